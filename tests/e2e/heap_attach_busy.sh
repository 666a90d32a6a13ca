#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap attach and detach, again and again, on a program whose threads do nothing but call the
# functions that are changed: no thread runs half of a change, every block holds what was written,
# and the pages stay those of their file, as far as that can be opened.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc
[ "$(uname -m)" = x86_64 ] || { echo "skipped: attach has no code for $(uname -m) yet"; exit 77; }
gcc -O1 -g -fno-builtin -pthread -o busy "$SRC/tests/e2e/heap_attach_busy.c" || exit 1

begin() { # COMMAND...
    coproc it { exec "$@" 2>log; }
    # shellcheck disable=SC2154 # coproc sets it
    pid=$it_PID
    read -r -t 60 line <&"${it[0]}"
    same "it runs" "${line:-}" ready
}
# toggle TIMES CASE [COMMAND...]
toggle() {
    for i in $(seq "$1"); do
        "${@:3}" "$CAIRN" heap attach --why "$pid" >out 2>log || { fail "$2: attach $i" log; return; }
        "${@:3}" "$CAIRN" heap detach --why "$pid" >out 2>>log || { fail "$2: detach $i" log; return; }
    done
}
# libc_pages: "all" if each page between the first and the last of libc's code is one of a file.
libc_pages() {
    awk '/libc\.so/ { if (file && $1 !~ "^" ends) gap = 1; file = 1; split($1, at, "-"); ends = at[2] }
        END { print gap ? "some" : "all" }' "/proc/$pid/maps"
}
end() { # CASE
    eval "exec ${it[1]}>&-"
    read -r -t 60 line <&"${it[0]}"
    wait "$pid"
    same "$1: its exit status" $? 0
    case ${line:-} in
    *" blocks, 0 wrong bytes") n_checks=$((n_checks + 1)) ;;
    *) fail "$1: it says ${line:-nothing}" ;;
    esac
}

begin ./busy
"$CAIRN" heap attach "$pid" >out 2>log || {
    grep -q "may not be traced\|ptrace" log && { echo "skipped: $(cat log)"; exit 77; }
    fail "attach" log
}
"$CAIRN" heap detach "$pid" >out 2>log || fail "detach" log
maps=$(wc -l <"/proc/$pid/maps") fds=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
toggle 15 "busy"
same "busy: libc's pages that are of a file" "$(libc_pages)" all
at_most $((maps + 8)) "$(wc -l <"/proc/$pid/maps")" "busy: mappings" # arenas of its threads grow
same "busy: descriptors" "$(find "/proc/$pid/fd" -mindepth 1 | wc -l)" "$fds"
end "busy"

# An upgrade takes libc's file away: root may open what is mapped, and keeps the pages of that file. A
# user gets memory in their place.
libc=$(ldd ./busy | awk '$1 ~ /^libc\.so/ { print $3 }')
begin_own() { # USER...
    mkdir -p own && cp "$libc" own/libc.so.6
    begin env LD_LIBRARY_PATH="$PWD/own" "$@" ./busy
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    begin_own
    rm own/libc.so.6
    toggle 3 "libc is gone, root"
    if ! grep -q "could not be opened" log; then
        same "libc is gone, root: pages of a file" "$(libc_pages)" all
    fi
    end "libc is gone, root"

    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    mkdir bin && cp "$CAIRN" "$(dirname "$CAIRN")"/libcairn-track.so bin/ && chmod -R a+rX .
    CAIRN=$PWD/bin/cairn
    begin_own "${nobody[@]}"
    if "${nobody[@]}" "$CAIRN" heap attach "$pid" >out 2>log; then
        rm own/libc.so.6
        "${nobody[@]}" "$CAIRN" heap detach --why "$pid" >out 2>log || fail "libc is gone, user: detach" log
        has log "the file of the code could not be opened" "libc is gone, user"
        toggle 3 "libc is gone, user" "${nobody[@]}"
        "${nobody[@]}" "$CAIRN" heap attach "$pid" >out 2>log || fail "libc is gone, user: last" log
        has out " from before" "libc is gone, user: older blocks"
        hasnt out "NOT KNOWN" "libc is gone, user: older blocks"
    elif grep -q "may not be traced\|ptrace" log; then
        skip "libc is gone, user" "$(head -n 1 log)"
    else
        fail "libc is gone, user: attach" log
    fi
    end "libc is gone, user"
else
    skip "libc is gone" "it needs root and setpriv"
fi

finish "no half of a change was run ($n_checks checks)"
