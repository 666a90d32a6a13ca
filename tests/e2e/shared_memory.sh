#!/bin/bash
# SPDX-License-Identifier: MIT
# Code in shared memory, as PHP's compiler puts it there, is code made at run time: no module "zero", no
# warning of a device that is no file, no advice to look for its binary.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc mkfifo
case $(uname -m) in
x86_64 | aarch64) ;;
*) echo "skipped: no code for this machine"; exit 77 ;;
esac
gcc -D_GNU_SOURCE -g -O0 -fno-omit-frame-pointer "$SRC/tests/e2e/shared_memory.c" -o code || fail "cannot build"

kinds=
for kind in zero devzero sysv memfd shm; do
    rm -f said
    mkfifo said
    ./code $kind >said 2>log &
    pid=$!
    read -r ready <said
    if [ "$ready" != ready ]; then
        skip $kind "$(cat log)"
        wait $pid
        continue
    fi
    kinds="$kinds $kind"
    "$CAIRN" stack $pid >out 2>err || fail "$kind: stack" err
    kill $pid
    wait $pid 2>/dev/null
    has out wait_here "$kind: the inner frame"
    hasnt err device "$kind: warnings"
    hasnt err "--symbols DIR" "$kind: warnings"
    at_most 1 "$(grep -c warning err)" "$kind: warnings"
    case $kind in
    zero | devzero | sysv) has out "(no module)" "$kind: the frame" ;;
    memfd) has out "memfd:jit-cache+0x" "$kind: the frame" ;;
    esac
    hasnt out "zero+0x" "$kind: the frame"
    hasnt out "SYSV" "$kind: the frame"
done
[ -n "$kinds" ] || { echo "skipped: no executable shared memory here"; exit 77; }
finish "$n_checks checks:$kinds"
