#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap attach to programs that have filters of system calls (seccomp): a filter that allows what
# the tracker calls is run and found harmless, any other is named, and no program is harmed.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc /usr/bin/python3
[ "$(uname -m)" = x86_64 ] || { echo "skipped: attach has no code for $(uname -m) yet"; exit 77; }
gcc -O1 -g -fno-builtin -pthread -o program "$SRC/tests/e2e/heap_attach.c" || exit 1
gcc -O1 -o filtered "$SRC/tests/e2e/filtered.c" || exit 1

ask_it() {
    echo "$1" >&"${it[1]}"
    read -r -t 60 answer <&"${it[0]}" || answer="no answer"
    echo "$answer"
}
attach() {
    "$CAIRN" heap attach --why "$pid" >out 2>log
}
# kept: how many of the program's kept blocks are known to live.
kept() {
    "$CAIRN" heap leaks --json "$pid" >out 2>err
    ask "sum(l['blocks'] for l in j['leaks'] if any(s['function'] == 'keep_one' for f in l['frames'] for s in f['lines']))"
}
number() {
    /usr/bin/python3 - "$@" <<'PY'
import re, sys
known = dict(re.findall(r"#define __NR_(\w+) (\d+)", open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read()))
for name in sys.argv[1:]:
    print(known[name])
PY
}
# through WHAT: attached to, the program keeps blocks, frees them, and ends as it should.
through() {
    attach || { fail "$1" log; return; }
    has log "have filters of system calls (seccomp)" "$1: what was asked"
    same "$1: new blocks" "$(ask_it 'keep 4000 640')" "done"
    same "$1: each is known" "$(kept)" 16000
    same "$1: freed" "$(ask_it drop)" "done"
    same "$1: none is left" "$(kept)" 0
    "$CAIRN" heap mark "$pid" >/dev/null 2>&1 || fail "$1: mark"
    "$CAIRN" heap detach "$pid" >out 2>log || fail "$1: detach" log
    same "$1: it answers" "$(ask_it 'keep 5 5')" "done"
    same "$1: calls that came back early" "$(ask_it eintr)" 0
}
end() {
    eval "exec ${it[1]}>&-"
    wait "$pid"
    same "$1: its exit status" $? 0
}
begin() { # WHAT MODE...
    coproc it { exec "${@:2}"; }
    # shellcheck disable=SC2154 # coproc sets it
    pid=$it_PID
    same "$1: it runs" "$(ask_it 'keep 0 0')" "done"
}

begin container ./filtered container ./program
attach || {
    grep -q "CAP_SYS_ADMIN\|may not be traced" log && { echo "skipped: $(cat log)"; exit 77; }
    fail "container" log
}
has log "but process_vm_readv" "a call that is refused, and can be done without"
"$CAIRN" heap detach "$pid" >out 2>log || fail "container: detach" log
through container
end container

# All but what the tracker calls and what the program itself needs ends it at once.
mapfile -t calls < <(sed -n 's/^    \(NEEDED\|WANTED\)(\([a-z0-9_]*\),.*/\2/p' "$SRC/src/attach/late_calls.c" | sort -u)
at_least 40 "${#calls[@]}" "the tracker's calls"
number "${calls[@]}" execve brk access arch_prctl set_tid_address set_robust_list rseq getrandom newfstatat \
    clone3 clone futex exit_group epoll_create1 epoll_wait socketpair setsockopt recvfrom semget semtimedop \
    clock_nanosleep rt_sigaction semctl lseek restart_syscall >list
begin "a list" ./filtered list list ./program
through "a list"
end "a list"

# What would end it is named, and not tried.
for call in fallocate mremap exit; do
    begin "no $call" ./filtered kill "$(number "$call")" ./program
    attach && fail "no $call: attached"
    has log "ends it for $call, which the tracker calls" "no $call"
    has log "cairn heap run -- COMMAND" "no $call: another way"
    same "no $call: it answers" "$(ask_it 'keep 5 5')" "done"
    kill "$pid"
    wait "$pid" 2>/dev/null
done

# Who may not read filters is told so.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 . program filtered
    cp "$CAIRN" cairn_copy && chmod 755 cairn_copy # the command may lie where that user cannot go
    coproc it { exec setpriv --reuid 65534 --regid 65534 --clear-groups ./filtered container ./program; }
    pid=$it_PID
    same "a user's: it runs" "$(ask_it 'keep 0 0')" "done"
    setpriv --reuid 65534 --regid 65534 --clear-groups ./cairn_copy heap attach "$pid" >out 2>log && fail "a user: attached"
    if grep -q "cannot be read" log; then
        has log "CAP_SYS_ADMIN" "a user: what gives the right"
    else
        skip "a user's own" "$(head -n 1 log)"
    fi
    same "a user's: it answers" "$(ask_it 'keep 5 5')" "done"
    kill "$pid"
else
    skip "a user's own" "it needs root and setpriv"
fi

finish "filters are run, never tried ($n_checks checks)"
