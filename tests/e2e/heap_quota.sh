#!/bin/bash
# SPDX-License-Identifier: MIT
# States on disks that have no room, or that count it: recording stops and says so, the program goes
# on, and no page that is mapped of the file turns into a SIGBUS.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: only root may mount a disk of its own"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
gcc -O1 -fno-builtin -w -o programs "$SRC/tests/e2e/heap_programs.c" -pthread || exit 1
mkdir disk
trap 'umount "$WORK/disk" 2>/dev/null' EXIT

# mounted NAME SIZE MKFS...: an image of that file system at disk/; 1: that cannot be had here.
mounted() {
    local name=$1 size=$2
    shift 2
    command -v "$1" >/dev/null || { skip "$name" "$1 is missing"; return 1; }
    rm -f image
    if ! truncate -s "$size" image || ! "$@" image >log 2>&1 || ! mount -o loop image disk 2>>log; then
        skip "$name" "it cannot be made and mounted here"
        return 1
    fi
    mkdir -m 700 disk/states
}

# tracked NAME CASE: its status and output are as without; in `said`, what the state says.
tracked() {
    rm -f disk/states/*
    CAIRN_HEAP_DIR=$PWD/disk/states LD_PRELOAD=$library ./programs "$2" >out 2>log
    same "$1, $2: status" $? 0
    [ "$2" != many ] || has out 20000 "$1, $2: output"
    for file in disk/states/*.heap; do
        [ ! -e "$file" ] || python3 "$SRC/tests/support/heap_state.py" "$file"
    done >said 2>&1
}

if mounted "a full ext4" 16M mkfs.ext4 -q -F -m 0; then
    for free in 1000000 700000 500000; do
        dd if=/dev/zero bs=4k >>disk/fill 2>log
        truncate -s -$free disk/fill
        sync disk/fill
        for case in many threads; do
            tracked "ext4, $free" $case
            has said 'counts agree' "ext4, $free, $case"
        done
        tracked "ext4, $free" many
        has said 'loss full' "ext4, $free"
        "$CAIRN" heap leaks --top 1 disk/states >out 2>log
        has log 'NOT RECORDED' "ext4, $free: it is said"
        rm -f disk/states/*
    done
    umount disk
fi

if mounted btrfs 128M mkfs.btrfs -q; then
    for case in many threads; do
        tracked btrfs $case
        has said 'counts agree' "btrfs, $case"
        hasnt said loss "btrfs, $case"
    done
    same "written in place" "$(lsattr disk/states 2>/dev/null | grep -c '^[^ ]*C')" 1
    # The quota counts each page that is written to once more for a while: nothing is safe there.
    if btrfs quota enable disk 2>log && btrfs qgroup limit 1M 0/5 disk 2>>log; then
        for case in many threads leaks; do
            tracked "btrfs with a quota" $case
            same "btrfs with a quota, $case: states" "$(find disk/states -name '*.heap' | wc -l)" 0
        done
    else
        skip "btrfs with a quota" "btrfs quota is not to be had here"
    fi
    umount disk
fi

finish "a disk that is full, or counts, costs records and never the program ($n_checks checks)"
