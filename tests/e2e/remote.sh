#!/bin/bash
# SPDX-License-Identifier: MIT
# -H HOST, HOST:PID and --rsh: the same stacks as here, names from here and from there, several
# hosts, an installation, and an end that leaves nothing. A server of our own stands for ssh; mount
# namespaces stand for machines with other files.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

need ssh ssh-keygen
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || { echo "skipped: sshd is missing"; exit 77; }

pids=""
# shellcheck disable=SC2317 # by the trap
end() {
    # shellcheck disable=SC2086 # a list
    kill -9 $pids 2>/dev/null
    [ ! -f ssh/pid ] || kill "$(cat ssh/pid)" 2>/dev/null
    umount mounted 2>/dev/null
}
trap end EXIT

# until_true SECONDS COMMAND...
until_true() {
    local last=$((SECONDS + $1))
    while [ $SECONDS -le $last ]; do
        "${@:2}" && return 0
        sleep 0.05
    done
    return 1
}

# start FILE COMMAND...: its pid in $pid, once its first line is in FILE.
start() {
    out=$1
    shift
    "$@" >"$out" 2>/dev/null &
    pid=$!
    pids="$pids $pid"
    until_true 10 test -s "$out"
    sleep 0.1
}

here=$PWD
mkdir -p bin home far ssh
ln -s "$CAIRN" bin/cairn
export HOME="$here/home" XDG_CACHE_HOME="$here/home/.cache"
cc=${CC:-gcc}
"$cc" -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o prog \
    "$SRC/tests/e2e/stack_command.c" || exit 1
start threads ./prog threads 50
sleeper=$pid
if ! "$CAIRN" stack "$sleeper" >near 2>near.err; then
    echo "skipped: this process may not look into others: $(head -1 near.err)"
    exit 77
fi

# --rsh: any command that opens a shell.
far="env PATH=$here/bin:/usr/bin:/bin"
"$CAIRN" stack --rsh "$far" "$sleeper" >out 2>err || fail "by --rsh" err
same "threads" "$(grep -c '^thread ' out)" 50
same "whole stacks" "$(grep -c ' held_outer  .*stack_command.c:' out)" 50
same "lines as here" "$(wc -l <out)" "$(wc -l <near)"
has err "cairn: names: " "where names come from"
has err " by files here (" "which files"
"$CAIRN" stack --rsh "$far" --symbols-there "$sleeper" >out 2>err || fail "--symbols-there" err
same "whole stacks named there" "$(grep -c ' held_outer  .*stack_command.c:' out)" 50
hasnt err "names: " "nothing is asked with --symbols-there"
"$CAIRN" stack --rsh "$far" --json "$sleeper" >out 2>err || fail "--json" err
same "JSON" "$(jq '.processes[0].threads | length' out)" 50
"$CAIRN" stack --rsh "$far" -o x.txt "$sleeper" 2>err || fail "-o" err
has x.txt "held_outer;" "a profile that is written here"
has err "cairn: wrote x.txt" "where it was written"
"$CAIRN" stack --rsh "$far" -o x.txt "$sleeper" 2>err && fail "an output that is there"
has err "x.txt" "which output is there"
"$CAIRN" stack --rsh "$far" 999999999 >out 2>err && fail "a process that is not there"
has err "$far: cairn: " "a far line names its host"
"$CAIRN" doctor --rsh "$far" >out 2>err || fail "doctor" err
has out "record -p PID" "what is allowed there"

# What cannot be: said, and bounded.
"$CAIRN" stack --rsh "echo no such container >&2; exit 5;" 1 >out 2>err && fail "no shell"
has err "no such container" "what the client said"
has err "(status 0)" "that it ended"
"$CAIRN" stack --rsh "env PATH=/usr/bin:/bin" 1 >out 2>err && fail "cairn is not there"
has err "hint: give --install" "what to do where cairn is missing"
"$CAIRN" stack -H -oProxyCommand=x 1 2>err
same "an option for a host" "$?" 2

# An installation: private, found again, removed.
bare="env PATH=/usr/bin:/bin HOME=$here/far XDG_CACHE_HOME="
"$CAIRN" stack --rsh "$bare" --install "$sleeper" >out 2>err || fail "--install" err
same "stacks by the program sent" "$(grep -c '^thread ' out)" 50
folder=$here/far/.cache/cairn/bin
same "the folder's mode" "$(stat -c %a "$folder")" 700
same "what is in it" "$(find "$folder" -type f | wc -l)" 1
cmp -s "$folder"/* "$CAIRN" || fail "the program that was sent differs"
"$CAIRN" stack --rsh "$bare" "$sleeper" >out 2>err || fail "the installed one" err
"$CAIRN" remote clean --rsh "$bare" >out 2>err || fail "clean" err
has out "removed $folder" "what was removed"
[ ! -e "$folder" ] || fail "the folder is still there"
"$CAIRN" remote clean --rsh "printf '\\033[2Jgone\\n';" >out 2>err
hasnt out "$(printf '\033')" "what a shell there prints steers no terminal"
has out "gone" "it is printed"
if [ "$(id -u)" = 0 ] && mkdir -p mounted && mount -t tmpfs -o noexec none mounted 2>/dev/null; then
    "$CAIRN" stack -v --rsh "env PATH=/usr/bin:/bin HOME=$here/mounted XDG_CACHE_HOME=" --install \
        "$sleeper" >out 2>err || fail "a home without programs" err
    hasnt err "$here/mounted/.cache/cairn/bin" "a folder that runs no programs"
    "$CAIRN" remote clean --rsh "env PATH=/usr/bin:/bin HOME=$here/mounted XDG_CACHE_HOME=" >out
else
    skip "noexec" "no tmpfs can be mounted"
fi

# What another user prepared in a folder of everybody is neither run nor removed.
cat >shared.sh <<END
mount -t tmpfs -o mode=1777 none /var/tmp && mount -t tmpfs none /dev/shm || exit 77
stack() { "$CAIRN" stack --rsh "env -u HOME PATH=/usr/bin:/bin XDG_CACHE_HOME=" "\$@" "$sleeper"; }
clean() { "$CAIRN" remote clean --rsh "env -u HOME PATH=/usr/bin:/bin XDG_CACHE_HOME="; }
stack --install -v >out 2>err || exit 1
grep -q /var/tmp/cairn-0/bin err || exit 2
stack >out 2>err || exit 3
chown 65534 /var/tmp/cairn-0
stack >out 2>err && exit 4
clean >out
[ -d /var/tmp/cairn-0/bin ] || exit 5
rm -r /var/tmp/cairn-0 && mkdir -p -m 700 theirs/bin && ln -s "$here/theirs" /var/tmp/cairn-0
clean >out
[ -d theirs/bin ] || exit 6
stack --install -v >out 2>err || exit 7
grep -q /dev/shm/cairn-0/bin err || exit 8
clean >out
! [ -e /dev/shm/cairn-0 ] || exit 9
END
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    unshare -m sh shared.sh
    same "folders of other users: step" "$?" 0
else
    skip "folders of other users" "mount namespaces need root"
fi

# Recordings: Ctrl-C brings the result, a killed client leaves nothing.
start spins ./prog spin
spinner=$pid
record() {
    "$CAIRN" record -v --rsh "$far" -p "$spinner" "$@" 2>record.err &
    recorder=$!
    until_true 30 grep -q "sampling has begun" record.err || fail "a recording begins" record.err
    sleep 0.3
}
# shellcheck disable=SC2317 # by until_true
no_far_end() {
    ! pgrep -f "$here/bin/cairn remote serve" >/dev/null
}
if "$CAIRN" record -p "$spinner" -d 0.1 -o probe.pb.gz 2>err; then
    record -o int.html
    kill -INT $recorder
    wait $recorder || fail "a recording that Ctrl-C ended" record.err
    has int.html "spin" "its picture"
    has record.err "samples in" "its last line"
    until_true 10 no_far_end || fail "a far end is left behind Ctrl-C"
    record -o killed.html
    kill -9 $recorder
    wait $recorder 2>/dev/null
    until_true 10 no_far_end || fail "a far end is left behind a killed client"
    "$CAIRN" record --rsh "$far" -p "$spinner" -d 0.3 2>err || fail "the default name" err
    has err "cairn: wrote cairn.env_PATH" "it names the host"
else
    skip "recordings" "$(head -1 err)"
fi

# Several hosts at once, some of which fail in manners of their own.
cat >host.sh <<END
#!/bin/sh
case \$1 in
refused) echo "connection refused" >&2; exit 255 ;;
mute) exit 0 ;;
talks) echo "this account is closed"; exit 1 ;;
bare) PATH=/usr/bin:/bin exec sh ;;
*) exec env PATH=$here/bin:/usr/bin:/bin sh ;;
esac
END
chmod +x host.sh
printf '# ours\na\nb # the second\n\n' >hosts
"$CAIRN" stack --rsh ./host.sh -H @hosts -o hosts.pb.gz --symbols-there "$sleeper" 2>err ||
    fail "two hosts" err
has err "2 of 2 hosts done" "the table"
for host in a b; do
    "$CAIRN" report --label "host=$host" hosts.pb.gz --top 0 >out 2>&1
    has out "held_outer" "the samples of host $host"
done
"$CAIRN" stack --rsh ./host.sh a:"$sleeper" b:"$sleeper" >out 2>err || fail "targets with hosts" err
same "texts of two hosts" "$(grep -c '^thread ' out)" 100
has out "== b ==" "whose text it is"
"$CAIRN" stack --rsh ./host.sh -H a,refused,mute,talks,bare "$sleeper" >out 2>err ||
    fail "one of five is enough" err
same "threads of the one" "$(grep -c '^thread ' out)" 50
has err "refused: the connection ended before cairn answered (status 255): connection refused" \
    "one that refuses"
has err "talks: this account is closed" "one that talks"
has err "bare: cairn is neither in PATH" "one without cairn"
has err "1 of 5 hosts done" "how many"
"$CAIRN" stack --strict --rsh ./host.sh -H a,mute "$sleeper" >out 2>err
same "--strict" "$?" 1
"$CAIRN" stack --rsh ./host.sh -H mute,talks "$sleeper" >out 2>err
same "none was done" "$?" 1

# Files that are there alone, and debug files that are here alone.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    "$cc" -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o far_prog \
        "$SRC/tests/e2e/stack_command.c" || exit 1
    mkdir -p there debug
    objcopy --only-keep-debug far_prog debug/far_prog.debug
    objcopy --strip-debug far_prog far_stripped && rm far_prog
    start far_threads unshare -m sh -c "mount -t tmpfs none $here/there &&
        cp $here/far_stripped $here/there/far_prog && exec $here/there/far_prog threads 5"
    rm far_stripped
    far_pid=$pid
    PATH=$here/bin:$PATH "$CAIRN" stack "ns:$far_pid:$far_pid" >out 2>err || fail "ns:PID" err
    same "stacks that are named there" "$(grep -c ' held_outer  (far_prog)' out)" 5
    has err "left to the files there (far_prog" "which names are left"
    PATH=$here/bin:$PATH "$CAIRN" stack -s debug "ns:$far_pid:$far_pid" >out 2>err ||
        fail "--symbols" err
    same "lines by a debug file here" "$(grep -c ' held_outer  .*stack_command.c:' out)" 5
    PATH=$here/bin:$PATH "$CAIRN" stack -H "ns:$far_pid" -o raw.pb.gz "$far_pid" 2>err ||
        fail "a raw profile" err
    "$CAIRN" report raw.pb.gz >out 2>&1
    hasnt out "held_outer" "a raw profile has no names"
    "$CAIRN" resolve raw.pb.gz -s debug -o named.pb.gz 2>err || fail "names later" err
    "$CAIRN" report named.pb.gz >out 2>&1
    has out "held_outer" "names that came later"
else
    skip "files that are there alone" "mount namespaces need root"
fi

# ssh as it is, to a server of our own.
ssh-keygen -q -t ed25519 -N '' -f ssh/host && ssh-keygen -q -t ed25519 -N '' -f ssh/user || exit 1
port=
for try in 22901 32902 42903 52904; do
    cat >ssh/server <<END
Port $try
ListenAddress 127.0.0.1
HostKey $here/ssh/host
PidFile $here/ssh/pid
AuthorizedKeysFile $here/ssh/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
Banner $here/ssh/banner
SetEnv PATH=$here/bin:/usr/bin:/bin
END
    echo "Welcome, and mind the banner" >ssh/banner
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    "$sshd" -f "$here/ssh/server" -E "$here/ssh/log" 2>>ssh/log || continue
    until_true 5 test -s ssh/pid && port=$try && break
done
cat >bin/ssh <<END
#!/bin/sh
exec $(command -v ssh) -F $here/ssh/client "\$@"
END
chmod +x bin/ssh
cat >ssh/client <<END
BatchMode yes
UserKnownHostsFile $here/ssh/known
StrictHostKeyChecking accept-new
IdentityFile $here/ssh/user
User $(id -un)
ControlMaster auto
ControlPath $here/ssh/%C
ControlPersist 30
END
if [ -n "$port" ]; then
    export PATH="$here/bin:$PATH"
    "$CAIRN" stack -vH "127.0.0.1:$port" "$sleeper" >out 2>err || fail "by ssh" err
    same "threads by ssh" "$(grep -c '^thread ' out)" 50
    has err "Welcome, and mind the banner" "the banner is passed on"
    "$CAIRN" stack "[127.0.0.1]:$port:$sleeper" >out 2>err || fail "by [host]:port:pid" err
    same "threads by [host]:port:pid" "$(grep -c '^thread ' out)" 50
    "$CAIRN" stack -H "127.0.0.1:$port,127.0.0.1:1" "$sleeper" >out 2>err || fail "a closed port" err
    has err "1 of 2 hosts done" "a closed port beside an open one"
    "$CAIRN" heap run -o x.heap -- ./prog threads 2 >/dev/null 2>heap.err &
    pids="$pids $!"
    held=$!
    # shellcheck disable=SC2317 # by until_true
    leaks() { "$CAIRN" heap leaks -H "127.0.0.1:$port" "$(pgrep -P "$held" -x prog)" >out 2>err; }
    # Beside a sanitizer there is no tracker.
    # shellcheck disable=SC2317 # by until_true
    runs_or_ended() { pgrep -P "$held" -x prog >/dev/null || ! kill -0 "$held" 2>/dev/null; }
    until_true 10 runs_or_ended
    if ! kill -0 "$held" 2>/dev/null; then
        skip "heap" "$(head -1 heap.err)"
    elif until_true 10 leaks; then
        has out "memory leaks detected" "the heap of a process elsewhere"
        if [ "$(uname -m)" = x86_64 ]; then
            "$CAIRN" heap attach "[127.0.0.1]:$port:$sleeper" >out 2>err || fail "attach elsewhere" err
            has out "attached to $sleeper in" "attach elsewhere"
            "$CAIRN" heap detach -H "127.0.0.1:$port" "$sleeper" >out 2>err || fail "detach elsewhere" err
            has out "detached from $sleeper" "detach elsewhere"
        fi
    else
        fail "the heap of a process elsewhere" err
    fi
    ssh -p "$port" -O exit 127.0.0.1 2>/dev/null
else
    fail "sshd does not start" ssh/log
fi
finish "the same stacks from another machine"
