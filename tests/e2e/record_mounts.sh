#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record of programs whose files lie in another mount namespace, as a container's do, or have
# no name any more; and of those that have ended when names are looked up. As root. CAIRN_FULL: of files with
# a build ID, too.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# at_least WANTED GOT CASE
at_least() {
    n_checks=$((n_checks + 1))
    [ "$2" -ge "$1" ] && return
    tail -3 log >end.log
    fail "$3: $2, expected at least $1" end.log
    grep -E 'within_|decoy_|in-box[+]0x|libbox.so[+]0x|^0x' named.txt | head -5 | cut -c1-300
}

# permille PATTERN: of the samples of the program in named.txt whose stack matches. What has no name, or
# that of another file, is of it, too.
permille() {
    pattern=$1 awk '/within_|decoy_|in-box[+]0x|libbox.so[+]0x/ {
            n = $NF; sum += n; if ($0 ~ ENVIRON["pattern"]) hit += n }
        END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' named.txt
}

# record OPTIONS...: into named.txt and log, until stop_recording.
record() {
    rm -f named.txt
    : >log
    "$CAIRN" record -v -F 499 -f -o named.txt "$@" >out.log 2>log &
    recorder=$!
    until grep -q 'sampling has begun' log || ! kill -0 $recorder 2>/dev/null; do sleep 0.02; done
}
stop_recording() {
    kill -INT $recorder
    wait $recorder || fail "recording" log
}

# let_work: until the target has used a third of a second more.
ticks() {
    awk '{ print $14 + $15 }' "/proc/$target/stat"
}
let_work() {
    local until=$(($(ticks) + $(getconf CLK_TCK) / 3))
    while [ "$(ticks)" -lt $until ]; do sleep 0.02; done
}

need unshare mount
unshare -m true 2>/dev/null || { echo "skipped: unshare(1) cannot make a mount namespace here"; exit 77; }
unshare -m mount -t tmpfs none "$WORK" 2>/dev/null ||
    { echo "skipped: no tmpfs can be mounted here"; exit 77; }
"$CAIRN" record -a -d 0.1 -f -o probe.txt >probe.log 2>&1 ||
    { echo "skipped: $(head -1 probe.log)"; exit 77; }

cat >library.c <<'TEXT'
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
__attribute__((noinline)) void SPIN(double for_s)
{
    while (seconds() < for_s)
        for (int i = 0; i < 100000; i++)
            sink += i;
}
TEXT
cat >program.c <<'TEXT'
#include <stdlib.h>
void SPIN(double for_s);
__attribute__((noinline)) static int WORK(double for_s)
{
    SPIN(for_s);
    return 0;
}
int main(int argc, char **argv)
{
    return argc + WORK(atof(argv[1])) == 0;
}
TEXT
cc=${CC:-gcc}
# build FOLDER NAME OPTIONS...: FOLDER/in-box and its library, with functions of that name.
build() {
    local to=$1 name=$2
    shift 2
    mkdir -p "$to"
    "$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$@" -DSPIN="${name}_spin" -shared -fPIC \
        -o "$to/libbox.so" library.c &&
        "$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$@" -DSPIN="${name}_spin" -DWORK="${name}_work" \
            -o "$to/in-box" program.c -L"$to" -lbox -Wl,-rpath,"$WORK/box" || exit 1
}
# box WORDS... &: a shell command where box/ holds what is in inner/, as a container's file system would.
box() {
    exec unshare -m sh -c "mount -t tmpfs none box && cp inner/* box/ && $*"
}
# until_runs: waits until a program of the box runs, and sets $target.
until_runs() {
    until target=$(pgrep -x -n in-box) && grep -q 'libbox' "/proc/$target/maps" 2>/dev/null; do sleep 0.02; done
}
trap 'kill -9 $target 2>/dev/null; wait; [ -z "$group" ] || rmdir "$group"' EXIT
target=
group=
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    if [ -e $root/cgroup.controllers ] && mkdir $root/cairn-box-$$ 2>/dev/null; then
        group=$root/cairn-box-$$
        break
    fi
done
[ -n "$group" ] || skip "a cgroup" "none of version 2 may be made here"

identities=none # of a build: many a distribution has none
[ -z "${CAIRN_FULL:-}" ] || identities="sha1 none"
for identity in $identities; do
    rm -rf inner box
    build inner within "-Wl,--build-id=$identity"
    build box decoy "-Wl,--build-id=$identity"
    # Of all, a recorder on a busy machine may come late for whole stacks, but not for names.
    stack='within_spin'
    for method in bpf dump perf; do
        if ! "$CAIRN" record --method=$method -f -o probe.txt -- true >probe.log 2>&1; then
            skip "$method" "$(head -1 probe.log)"
            continue
        fi
        case="$method, build ID $identity"
        box "exec box/in-box 600" &
        container=$!
        until_runs
        seen="-p $target;-a"
        if [ -n "$group" ] && echo "$target" >"$group/cgroup.procs"; then
            seen="$seen;--cgroup cairn-box-$$"
        fi
        IFS=';'
        for whom in $seen; do
            unset IFS
            # shellcheck disable=SC2086 # two words
            record --method=$method $whom
            let_work
            stop_recording
            at_least 900 "$(permille "$stack")" "$case: $whom"
        done
        # It ends while it is recorded, and its namespace with it.
        record --method=$method -a
        let_work
        kill -9 "$target"
        wait $container
        stop_recording
        at_least 900 "$(permille "$stack")" "$case: a namespace that has ended"
        # One after the other, none of which is there for long.
        box 'until [ -e go ]; do sleep 0.02; done; for i in 1 2 3 4 5 6 7 8 9 10; do box/in-box 0.05; done' &
        container=$!
        record --method=$method -p $container
        touch go
        wait $container
        stop_recording
        rm go
        at_least 900 "$(permille "$stack")" "$case: short programs"
    done
done

# A file that is removed, and one that is replaced, while it runs; its process ends, too.
rm -rf box
build box within -Wl,--build-id=none
build other decoy -Wl,--build-id=none
for method in bpf perf; do
    grep -q "skipped: $method" probe.log && continue
    mkdir -p kept && cp box/* kept/
    box/in-box 600 &
    until_runs
    container=$!
    record --method=$method -a
    let_work
    rm box/libbox.so
    mv other/in-box box/in-box
    let_work
    kill -9 "$target"
    wait $container
    stop_recording
    at_least 900 "$(permille within_spin)" "$method: files that are gone"
    cp kept/* box/ && build other decoy -Wl,--build-id=none
done

finish "$n_checks checks hold"
