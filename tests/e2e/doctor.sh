#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn doctor: as root, as an ordinary user, in a user namespace, behind filters; on processes of all
# kinds. What this machine cannot do is skipped, with the reason.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need python3

# ask KEY FILE: "LEVEL VALUE|WHY|FIX" of a finding; whatever is wrong with the JSON fails.
ask() {
    /usr/bin/python3 - "$1" "$2" <<'PY'
import json
import sys
with open(sys.argv[2], encoding="utf-8") as file:
    report = json.load(file)
groups = ["commands", "tried", "process", "rights", "settings", "kernel"]
assert list(report) == ["title", "pid", *groups, "modules"], list(report)
found = [row for group in groups for row in report[group] if row["key"] == sys.argv[1]]
assert len(found) == 1, (sys.argv[1], found)
row = found[0]
assert list(row) == ["key", "name", "level", "value", "why", "fix"], list(row)
for group in groups:
    for one in report[group]:
        assert one["level"] in ("fact", "yes", "part", "no"), one
        assert one["why"] or one["level"] in ("fact", "yes"), one
print("{level} {value}|{why}|{fix}".format(**row))
PY
}

# begins CASE GOT START
begins() {
    n_checks=$((n_checks + 1))
    case $2 in
    "$3"*) ;;
    *) fail "$1: \"$2\" does not begin with \"$3\"" ;;
    esac
}

# holds CASE GOT PART
holds() {
    n_checks=$((n_checks + 1))
    case $2 in
    *"$3"*) ;;
    *) fail "$1: \"$2\" does not hold \"$3\"" ;;
    esac
}

# Whoever we are.
"$CAIRN" doctor >out 2>err || fail "doctor" err
same "nothing is said beside it" "$(cat err)" ""
for title in commands tried rights settings kernel; do
    n_checks=$((n_checks + 1))
    grep -qx "$title" out || fail "no group $title" out
done
n_checks=$((n_checks + 1))
! grep -nE '.{101}' out | grep -vE '^[0-9]+: +> ' || fail "lines that are too long"
"$CAIRN" doctor --json >out.json 2>err || fail "doctor --json" err
begins "heap.folder" "$(ask heap.folder out.json)" "yes "
same "paranoid" "$(ask kernel.perf_event_paranoid out.json | cut -d'|' -f1)" \
    "fact $(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 'not there')"
# What doctor says of record holds.
"$CAIRN" record -o probe.txt -- sleep 0.1 2>log
status=$?
case $(ask record.command out.json) in
no*) [ $status != 0 ] || fail "record works, which doctor denied" log ;;
*) [ $status = 0 ] || fail "record does not work, which doctor promised" log ;;
esac
# promised REPORT LOG: does record, which wrote LOG, walk by what doctor said?
promised() {
    n_checks=$((n_checks + 1))
    said=$(ask sampler.command "$1")
    case $said in
    "yes bpf|"*) grep -q 'by unwind tables' "$2" || fail "record goes another way: $said" "$2" ;;
    "yes dump|"*) grep -q 'from copies' "$2" || fail "record goes another way: $said" "$2" ;;
    "yes "*) ! grep -q 'by unwind tables' "$2" || fail "record goes another way: $said" "$2" ;;
    esac
}
promised out.json log
# And of record -a, of cgroups, and of time off the CPU.
for one in "all:-a" "cgroup:--cgroup /" "off_cpu:--off-cpu -p $$"; do
    # shellcheck disable=SC2086 # words
    "$CAIRN" record ${one#*:} -d 0.1 -f -o probe.txt >log 2>&1
    status=$?
    n_checks=$((n_checks + 1))
    case $(ask "record.${one%%:*}" out.json) in
    no*) [ $status != 0 ] || fail "record ${one#*:} works, which doctor denied" log ;;
    *) [ $status = 0 ] || fail "record ${one#*:} does not work, which doctor promised" log ;;
    esac
done

# Wrong use.
"$CAIRN" doctor 0 2>err
same "pid 0: exit status" $? 2
"$CAIRN" doctor 1 2 2>err
same "two pids: exit status" $? 2
"$CAIRN" doctor x 2>err
same "no number: exit status" $? 2
has err '"x" is no number of a process' "no number"
"$CAIRN" doctor 999999999 2>err
same "no such process: exit status" $? 1
has err "999999999" "no such process"

# until_asleep PID: a process that has begun its sleep(1).
until_asleep() {
    until grep -q '^State:.S' "/proc/$1/status"; do sleep 0.05; done
}

# A process with a module whose name would write to the terminal, and one that is deleted.
cc=${CC:-gcc}
echo 'int cairn_doctor_module(int x) { return x + 1; }' >module.c
# shellcheck disable=SC2086 # CC may have options
$cc -g -O1 -fPIC -shared -o module.so module.c || exit 1
evil=$(printf 'ev\033[31mil\nname.so')
cp module.so "$evil"
cp module.so deleted.so
LD_PRELOAD="$WORK/$evil:$WORK/deleted.so" sleep 600 &
target=$!
trap 'kill $target 2>/dev/null' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
    grep -q deleted.so /proc/$target/maps && break
    sleep 0.1
done
rm deleted.so
"$CAIRN" doctor $target >out 2>err || fail "a process" err
n_checks=$((n_checks + 1))
! LC_ALL=C grep -q "$(printf '\033')" out || fail "an escape sequence gets to the terminal" out
has out '\x1b[31mil\x0aname.so' "a module's name"
"$CAIRN" doctor --json $target >out.json 2>err || fail "a process: --json" err
begins "the process's name" "$(ask process.name out.json)" "fact sleep"
/usr/bin/python3 - "$WORK" out.json <<'PY' || fail "modules" out.json
import json
import os
import sys
work, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    modules = {module["path"]: module for module in json.load(file)["modules"]}
evil = modules[work + "/ev\033[31mil\nname.so"]
assert evil["lines"] and evil["inlines"] and evil["symbols"] == ".symtab", evil
assert evil["tables"].startswith(".eh_frame") or evil["tables"] == ".ARM.exidx", evil
assert not evil["deleted"], evil
deleted = modules[work + "/deleted.so"]
assert deleted["deleted"], deleted
if os.geteuid() == 0:
    assert deleted["tables"] == evil["tables"] and deleted["build_id"] == evil["build_id"], deleted
assert "[vdso]" in modules, list(modules)
PY
kill -0 $target || fail "the process did not survive"
until_asleep $target
# stack goes the way that was said of a thread that sleeps.
"$CAIRN" stack --json $target >stack.json 2>err || fail "stack of the process" err
way=$(sed -n 's/.*"method": "\(.*\)".*/\1/p' stack.json | head -1)
# What is tried on has cairn's own frames, and a sanitizer's hang on registers that memory has not.
[ "$way" != memory ] || [ -e "$BUILD/meson-private/cairn-heap.pc" ] || way=ptrace
begins "the way of stack" "$(ask snapshot.sleeping out.json)" "yes $way|"
same "it is not traced" "$(sed -n 's/^TracerPid:\t//p' /proc/$target/status)" 0

# A zombie, a kernel thread.
(exec python3 -c 'import os, time
if os.fork() == 0: os._exit(0)
time.sleep(600)') &
parent=$!
zombie=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    zombie=$(cat /proc/$parent/task/*/children 2>/dev/null | tr -d ' ')
    [ -n "$zombie" ] && grep -q '^State:.Z' "/proc/$zombie/status" && break
    sleep 0.1
done
if [ -n "$zombie" ]; then
    "$CAIRN" doctor "$zombie" >out 2>err || fail "a zombie" err
    has out "it has ended" "a zombie"
else
    skip "a zombie" "/proc/PID/task/TID/children is not there"
fi
kill $parent
wait $parent 2>/dev/null
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
    "$CAIRN" doctor 2 >out 2>err || fail "a kernel thread" err
    has out kthreadd "a kernel thread"
else
    skip "a kernel thread" "pid 2 is none here"
fi

# Behind filters; LSan would stop threads by ptrace there, and wait for ever.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
# shellcheck disable=SC2086
$cc -O1 -o filter "$SRC/tests/e2e/doctor_filter.c" || exit 1
./filter EPERM true
if [ $? = 77 ]; then
    skip "filters" "seccomp is not allowed"
else
    ./filter EPERM "$CAIRN" doctor --json >out.json 2>err || fail "EPERM" err
    holds "EPERM" "$(ask perf.user out.json)" "a seccomp filter refuses perf_event_open (EPERM)"
    begins "EPERM: record" "$(ask record.command out.json)" "no "
    holds "EPERM: seccomp" "$(ask seccomp out.json)" "a filter"
    begins "EPERM: no_new_privs" "$(ask no_new_privs out.json)" "fact set"
    ./filter ENOSYS "$CAIRN" doctor --json >out.json 2>err || fail "ENOSYS" err
    holds "ENOSYS" "$(ask ptrace.child out.json)" "a seccomp filter refuses ptrace (ENOSYS)"
    ./filter kill "$CAIRN" doctor --json >out.json 2>err || fail "kill" err
    for key in perf.user ptrace.child read.other bpf.program; do
        begins "kill: $key" "$(ask $key out.json)" "no killed|a seccomp filter ends the program"
    done
    begins "kill: heap" "$(ask heap.run out.json)" "yes "
    begins "kill: the sampler itself" "$(ask sampler.pid out.json)" "no killed|"
    begins "kill: record" "$(ask record.pid out.json)" "no |a seccomp filter ends the program"
    n_checks=$((n_checks + 1))
    [ -z "$(ls core* 2>/dev/null)" ] || fail "core files are left"
fi

# In a container: namespaces, capabilities and a filter as docker gives them, without docker.
docker_caps=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap
docker_caps=$docker_caps,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap
# A copy of the machine's root that has docker's mark; what is mounted goes with the namespace.
# shellcheck disable=SC2016 # the inner shell expands it
in_docker='mount --make-rprivate / && mkdir root && mount -t tmpfs tmpfs root && cd root &&
    for at in /*; do
        if [ -L "$at" ]; then cp -P "$at" ".$at"
        elif [ -d "$at" ] && [ "$at" != /proc ]; then mkdir ".$at" && mount --rbind "$at" ".$at"; fi
    done && mkdir proc && mount -t proc proc proc && : >.dockerenv &&
    exec chroot . "$@"'
docker() {
    unshare --mount --pid --fork --uts --ipc --cgroup sh -c "$in_docker" sh setpriv \
        "--bounding-set=$docker_caps" "$WORK/filter" docker "$@"
    status=$?
    rmdir root 2>/dev/null
    return $status
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && docker true 2>log; then
    docker "$CAIRN" doctor --json >out.json 2>err || fail "a container" err
    begins "a container" "$(ask container out.json)" "fact docker|"
    begins "a container: record" "$(ask record.command out.json)" "part user code, by ptrace"
    holds "a container: record" "$(ask record.command out.json)" \
        "docker run --security-opt seccomp=unconfined --cap-add PERFMON"
    begins "a container: record -p" "$(ask record.pid out.json)" "no |a seccomp filter"
    holds "a container: BPF" "$(ask bpf.program out.json)" "--cap-add BPF --cap-add PERFMON"
    if [ -e "$BUILD/meson-private/cairn-heap.pc" ]; then
        begins "a container: stack" "$(ask stack.pid out.json)" "yes by reads of their memory"
    else # as above
        begins "a container: stack" "$(ask stack.pid out.json)" "part by ptrace"
    fi
    begins "a container: stack" "$(ask stack.running out.json)" "yes by ptrace"
    begins "a container: stack in the kernel" "$(ask stack.kernel out.json)" "no |"
    docker "$CAIRN" record -f -o "$WORK/probe.txt" -- sleep 0.1 2>log ||
        fail "record does not work in a container, which doctor promised" log
    promised out.json log
    has log "sampling by ptrace instead" "a container: record"
    # shellcheck disable=SC2016 # the inner shell expands it
    docker sh -c 'sleep 600 & until grep -q "^State:.S" /proc/$!/status; do sleep 0.05; done
        "$0" stack --json $!; kill $!' "$CAIRN" >stack.json 2>err ||
        fail "stack in a container" err
    has stack.json '"method": "memory"' "a container: stack"
else
    skip "a container" "this is run without root, or without setpriv or seccomp: $(head -1 log)"
fi

# As an ordinary user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$WORK"
    cp "$CAIRN" cairn && chmod 755 cairn
    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    if "${nobody[@]}" ./cairn version >log 2>&1; then
        "${nobody[@]}" ./cairn doctor --json >out.json 2>err || fail "nobody" err
        begins "nobody: user" "$(ask user out.json)" "fact uid 65534"
        begins "nobody: capabilities" "$(ask capabilities out.json)" "fact none"
        begins "nobody: another's process" "$(ask read.foreign out.json)" "no pid "
        holds "nobody: another's process" "$(ask read.foreign out.json)" "another user"
        begins "nobody: BPF" "$(ask bpf.program out.json)" "no "
        holds "nobody: BPF" "$(ask bpf.program out.json)" "cap_bpf,cap_perfmon+ep"
        holds "nobody: unwind tables" "$(ask sampler.tables out.json)" "the stack walker needs root"
        mkdir -m 777 open
        "${nobody[@]}" ./cairn record -o open/probe.txt -- sleep 0.1 2>log
        status=$?
        case $(ask record.command out.json) in
        no*) [ $status != 0 ] || fail "nobody: record works, which doctor denied" log ;;
        *) [ $status = 0 ] || fail "nobody: record does not work, which doctor promised" log ;;
        esac
        promised out.json log
        if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
            holds "nobody: kernel" "$(ask perf.kernel out.json)" "perf_event_paranoid=1"
        fi
        "${nobody[@]}" ./cairn doctor $target >out 2>err || fail "nobody: another's process" err
        has out "another than ours" "nobody: another's process"
        has out "/proc/$target/maps" "nobody: another's process"
        # Files that are gone: the program can be read all the same, of a library what is in memory.
        cp module.so gone.so
        cp "$(command -v sleep)" gone
        LD_PRELOAD="$WORK/gone.so" "${nobody[@]}" "$WORK/gone" 600 &
        own=$!
        trap 'kill $target $own 2>/dev/null' EXIT
        until grep -qs '/gone$' /proc/$own/maps && grep -q gone.so /proc/$own/maps; do sleep 0.05; done
        rm gone gone.so
        "${nobody[@]}" ./cairn doctor --json $own >out.json 2>err || fail "nobody: files gone" err
        /usr/bin/python3 - "$WORK" out.json <<'PY' || fail "nobody: modules whose files are gone" out.json
import json
import sys
work, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    modules = {module["path"]: module for module in json.load(file)["modules"]}
program, library = modules[work + "/gone"], modules[work + "/gone.so"]
for gone in program, library:
    assert gone["deleted"] and gone["tables"] and gone["build_id"], gone
assert program["symbols"] and not library["symbols"], (program, library)
assert "in memory" in library["why"] and "sudo" in library["fix"], library
PY
        kill $own
        "${nobody[@]}" --no-new-privs ./cairn doctor --json >out.json 2>err ||
            fail "no_new_privs" err
        holds "no_new_privs" "$(ask proc.stack out.json)" \
            "outside of what keeps this process from getting rights"
    else
        skip "an ordinary user" "it cannot run a copy of the command: $(head -1 log)"
    fi
    setpriv --bounding-set=-perfmon,-sys_admin,-bpf,-syslog --inh-caps=-all ./cairn doctor --json \
        >out.json 2>err || fail "root without capabilities" err
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
        begins "root without capabilities" "$(ask perf.kernel out.json)" "no EACCES"
    fi
    holds "root without capabilities" "$(ask bpf.program out.json)" "which was taken away here"
else
    skip "an ordinary user" "this is run without root, or without setpriv"
fi

# In a user namespace.
if unshare -Ur true 2>log; then
    unshare -Ur "$CAIRN" doctor --json >out.json 2>err || fail "a user namespace" err
    begins "a user namespace" "$(ask user_namespace out.json)" "fact an inner one"
    begins "a user namespace: BPF" "$(ask bpf.program out.json)" "no "
    holds "a user namespace: BPF" "$(ask bpf.program out.json)" "root of a user namespace"
    holds "a user namespace: BPF" "$(ask bpf.program out.json)" "outside of this user namespace"
else
    skip "a user namespace" "$(head -1 log)"
fi
# A runtime that can write a perf map, or could in another version.
/usr/bin/python3 -c 'import time
time.sleep(600)' &
target=$!
until [ "$(readlink /proc/$target/exe)" = "$(readlink -f /usr/bin/python3)" ] && grep -q '^State:.S' /proc/$target/status; do
    sleep 0.05
done
"$CAIRN" doctor --json $target >out.json 2>err || fail "doctor of Python" err
begins "Python without a map" "$(ask process.perf_map out.json)" "part Python in /usr/bin/python3"
holds "Python without a map" "$(ask process.perf_map out.json)" "-X perf"
echo "1000 10 py::f:/x.py" >/tmp/perf-$target.map
"$CAIRN" doctor --json $target >out.json 2>err || fail "doctor of Python with a map" err
rm -f /tmp/perf-$target.map
begins "Python with a map" "$(ask process.perf_map out.json)" "yes Python in /usr/bin/python3"

# The tracker into a process that runs.
if [ "$(uname -m)" = x86_64 ]; then
    before=$(md5sum <"/proc/$target/maps")
    begins "attach to Python" "$(ask process.attach out.json)" "yes 11 functions, "
    same "attach to Python: its mappings" "$(md5sum <"/proc/$target/maps")" "$before"
    "$CAIRN" heap attach $target >attached 2>err || fail "attach" err
    "$CAIRN" doctor --json $target >out.json 2>err || fail "doctor of a tracked process" err
    begins "a tracked process" "$(ask process.attach out.json)" "fact it is tracked"
else
    begins "attach" "$(ask process.attach out.json)" "no "
fi
kill $target
finish "$n_checks checks of cairn doctor hold"
