#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh [COMMAND...]: tries this commit as a newcomer would. It makes a Debian 12 tree (minbase) in a
# temporary folder, clones the current commit into it, makes it the root, runs the commands there and prints a
# line for each. Without arguments the commands are ./run demo, ./run test, ./run install and each
# command of README.md and docs/guide/tour.md. Logs stay in build-fresh/, everything else is removed at the end.
# CAIRN_FRESH_MIRROR names another mirror of Debian, TMPDIR the folder to work in (about 6 GB).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
logs=$root/build-fresh
COMMAND_SECONDS=120 # for a command of the documents; ./run test takes its time

give_up() {
    echo "run: fresh: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

make_tree() {
    echo "run: fresh: debootstrap of Debian 12 (minbase) into $tree"
    "$root/scripts/debian_tree.sh" "$tree" "$logs/debootstrap.log" || give_up "there is no tree to try it in"
    [ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] ||
        echo "run: fresh: changes that are not committed are not tried" >&2
    git -c safe.directory="$root" clone --quiet --no-hardlinks "$root" "$tree/root/cairn" ||
        give_up "git clone of $root failed"
    git -C "$tree/root/cairn" checkout --quiet --detach "$commit"
}

# Mounts live in this process's mount namespace: they end with it, whatever ends it.
mount_system() {
    mount --bind "$tree" "$tree" # a root must be a mount
    mount -t proc proc "$tree/proc"
    mount --rbind /sys "$tree/sys"
    mount --rbind /dev "$tree/dev"
    mount -t tmpfs -o mode=755 tmpfs "$tree/run"
    mountpoint -q "$tree/sys/kernel/tracing" || mount -t tracefs tracefs "$tree/sys/kernel/tracing" || :
    mountpoint -q "$tree/sys/fs/bpf" || mount -t bpf bpf "$tree/sys/fs/bpf" || :
}

# The tree becomes the root of this mount namespace, as of a container: in a chroot the kernel lets
# nobody make the root private, and tells paths from beyond it. /host is what the results are written to.
enter_tree() {
    readlink /proc/self/ns/mnt >"$logs/namespace"
    mkdir -p "$tree/host" "$tree/old"
    mount --bind "$root" "$tree/host"
    cd "$tree"
    pivot_root . old
    cd /
    umount -l /old
    root=/host logs=/host/build-fresh
}

in_tree() { # SECONDS COMMAND
    timeout -k 10 "$1" /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -c "cd /root/cairn && $2" </dev/null
}

passed=0
failed=0

try() { # SECONDS COMMAND
    log=$logs/$(printf '%02d' $((passed + failed + 1))).log
    start=$(date +%s)
    status=0
    echo "\$ $2" >"$log"
    in_tree "$1" "$2" >>"$log" 2>&1 || status=$?
    took=$(($(date +%s) - start))
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
        printf 'ok      %5d s  %s\n' "$took" "$2"
        ! tail -n 1 "$log" | grep -E '^[0-9]+ passed, ' || :
    else
        failed=$((failed + 1))
        printf 'FAILED  %5d s  %s\n' "$took" "$2"
        echo "    exit status $status; all it printed is in build-fresh/${log##*/}, its end is:"
        tail -n 40 "$log" | sed 's/^/    /'
    fi
}

# The lines that start with "$ " in the code blocks of README.md, then of the tour, which uses their output.
documented_commands() {
    sed -n 's/^    \$ //p' "$root/README.md" "$root/docs/guide/tour.md"
}

# What the two documents presume: servers, a later capture, a perf.data, stacks as text, the machines db1 and db2.
make_presumed() {
    in_tree 300 "
        apt-get -qq install -y --no-install-recommends procps sudo >/dev/null
        (redis-server --save '' >/dev/null 2>&1 &)
        gcc -O1 -g -o /usr/local/bin/leaky demo/leaky.c
        (cd / && leaky >/dev/null 2>&1 &)
        cairn record -F 499 -f -o after.raw.pb.gz -- /usr/bin/python3 bench/heap/work.py
        cairn resolve after.raw.pb.gz -f -o after.pb.gz
        (LD_LIBRARY_PATH=demo/out demo/out/demo 20 & echo \$! >demo.pid)
        sleep 1
        cat /proc/\$(cat demo.pid)/maps >demo.maps
        start=\$(awk '/libray/ { split(\$1, range, \"-\"); print range[1]; exit }' demo.maps)
        echo \"demo;libray.so+0x1d4c;0x\$start 12\" >stacks.txt
        perf record -q -F 99 -g -o perf.data -- demo/out/demo 1
        mkdir -p -m 700 /run/sshd /root/.ssh
        ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
        cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
        printf 'Host db1 db2\\n Hostname 127.0.0.1\\n Port 22905\\n StrictHostKeyChecking no\\n' \
            >/root/.ssh/config
        /usr/sbin/sshd -p 22905 -o ListenAddress=127.0.0.1 -o UsePAM=no
    " >"$logs/presumed.log" 2>&1 || {
        tail -n 20 "$logs/presumed.log"
        give_up "what README.md and docs/guide/tour.md presume could not be made"
    }
}

inside() {
    tree=$1 commit=$2
    shift 2
    make_tree
    mount_system
    enter_tree
    if [ $# -gt 0 ]; then
        for command; do try 7200 "$command"; done
    else
        try 1800 './run demo'
        try 600 'build/cairn heap run -o first.heap -- ls'
        try 7200 './run test'
        try 1800 './run install'
        make_presumed
        documented_commands >"$logs/commands"
        while IFS= read -r command <&3; do
            try $COMMAND_SECONDS "$command"
            case $command in *'&') sleep 3 ;; esac # a server needs a moment
        done 3<"$logs/commands"
    fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# Ends every process of the tree, then removes it. Their mounts are gone with them.
clean_up() {
    trap '' INT TERM HUP
    [ -z "${child:-}" ] || kill -- "-$child" 2>/dev/null || :
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        alive=
        for process in /proc/[0-9]*; do
            case $(readlink "$process/ns/mnt" 2>/dev/null || :) in
            '' | "$ours") ;;
            "$(cat "$logs/namespace" 2>/dev/null)")
                alive=yes
                kill -9 "${process#/proc/}" 2>/dev/null || :
                ;;
            esac
        done
        [ -n "$alive" ] || break
        sleep 0.2
    done
    [ -z "${child:-}" ] || wait "$child" 2>/dev/null || :
    rm -rf --one-file-system "$tree"
}

if [ "${1:-}" = --inside ]; then
    shift
    inside "$@"
    exit
fi
[ "$(id -u)" = 0 ] || give_up "it makes a tree of its own and mounts in it, which needs root" "sudo ./run fresh"
for tool in debootstrap git unshare setsid; do
    command -v "$tool" >/dev/null || give_up "$tool is missing" "scripts/deps.sh fresh"
done
ours=$(readlink /proc/self/ns/mnt)
commit=$(git -C "$root" rev-parse HEAD)
rm -rf "$logs"
mkdir -p "$logs"
tree=$(mktemp -d "${TMPDIR:-/tmp}/cairn-fresh.XXXXXX")
chmod 755 "$tree" # apt-get reads its lists as a user of its own
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# In the background, so that a signal is handled at once; as a group of its own, so that all of it ends.
setsid unshare --mount --propagation private sh "$0" --inside "$tree" "$commit" "$@" &
child=$!
wait "$child"
