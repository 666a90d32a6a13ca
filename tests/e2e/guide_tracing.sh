#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands of docs/guide/tracing.md, as ./run fresh runs those of the tour: each ends well, traces something, loses
# nothing, and prints what the guide shows of it.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need sqlite3 tar
[ -x /usr/bin/python3 ] || { echo "skipped: /usr/bin/python3 is missing"; exit 77; }
guide=$SRC/docs/guide/tracing.md
mkdir -p bin && ln -sf "$CAIRN" bin/cairn
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo && chmod +x bin/sudo
PATH=$PWD/bin:$PATH

# shown COMMAND: the words of the guide's output of it that are the same in each run.
shown() {
    awk -v command="    \$ $1" '
        index($0, command) == 1 && length($0) == length(command) { on = 1; next }
        on && !/^    / && !/^$/ { exit }
        on && /^    \$ / { exit }
        on' "$guide" | grep -oE '[A-Za-z_+]+(:[a-zA-Z0-9_.:]+)?' | grep -E '.{6,}' |
        grep -vE '^(linux|cpython|newfstatat|sysdeps|single|entry_|do_execveat|_execve|__traceiter)' | sort -u
}

sed -n 's/^    \$ //p' "$guide" >commands
at_least 8 "$(wc -l <commands)" "commands of the guide"
n_run=0
is_root=''
cairn trace --method=bpf --summary -e uprobe:libc.so.6:malloc true >out 2>&1 && is_root=1
while IFS= read -r command <&3; do
    needs_root=''
    case $command in sudo*) needs_root=1 ;; esac
    bash -c "$command" >out 2>&1 </dev/null
    status=$?
    if [ $status != 0 ] && [ -n "$needs_root" ] && [ -z "$is_root" ]; then
        skip "$command" "$(grep -m 1 '^cairn: ' out)"
        continue
    fi
    [ $status = 0 ] || fail "$command: exit status $status" out
    n_run=$((n_run + 1))
    case $command in
    *--explain*) ;;
    *)
        grep -qE '[1-9][0-9,]* counted, 0 lost' out || fail "$command: no event, or one was lost" out
        hasnt out " left out: " "$command"
        ;;
    esac
    for word in $(shown "$command"); do
        has out "$word" "the guide shows it of: $command"
    done
done 3<commands
at_least 4 $n_run "commands that ran"
has maps.html "<html" "the picture"
finish "guide_tracing: $n_run commands, $n_checks checks"
