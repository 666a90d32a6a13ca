#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one end-to-end script: e2e.sh COMMAND SCRIPT. The script finds CAIRN (the command), SRC (the
# source root) and WORK (an empty folder of its own, also its current folder) in its environment;
# exit status 77 means skipped, with the reason on stdout. KEEP=1 leaves the folder. What the script
# leaves running is ended.
set -eu
absolute() {
    case $1 in
    /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}
CAIRN=$(absolute "$1")
script=$(absolute "$2")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/cairn-e2e.XXXXXX")
export CAIRN WORK
# What is kept between runs lies there too: no test sees another's, nor the user's.
export XDG_CACHE_HOME="$WORK/.cache"
export XDG_DATA_HOME="$WORK/.data"
unset CAIRN_CACHE_SIZE CAIRN_SYMBOLS
# meson has libc write to all memory that a program allocates. Unit tests keep that; here it would take a
# fifth of the time, much of it in linkers, interpreters and the tools that we compare with.
export MALLOC_PERTURB_=0
# The system's python3, which has what scripts import, comes before one that a version manager starts.
export PATH="/usr/bin:/bin:$PATH"
export PYTHONPATH="$SRC/tests/support" PYTHONDONTWRITEBYTECODE=1
# meson gives each test a session of its own, without a terminal. By hand the session is the user's.
# shellcheck disable=SC2317 # called by trap
end_left() {
    read -r _ _ _ _ _ session terminal _ <"/proc/$$/stat"
    [ "$session" = $$ ] && [ "$terminal" = 0 ] || return 0
    for pid in $(pgrep -s $$ || :); do
        [ "$pid" = $$ ] || kill -KILL "$pid" 2>/dev/null || :
    done
}
if [ "${KEEP:-0}" = 1 ]; then
    echo "working in $WORK"
    trap end_left EXIT
else
    trap 'end_left; chmod -R u+rwX "$WORK" 2>/dev/null || :; rm -rf "$WORK"' EXIT
fi
trap 'exit 143' TERM INT HUP
cd "$WORK"
status=0
# nohup(1) has SIGHUP ignored in all that it starts, and no shell may change that.
case $(head -n 1 "$script") in
*python3*) env --default-signal=HUP /usr/bin/python3 "$script" || status=$? ;;
*bash*) env --default-signal=HUP bash "$script" || status=$? ;;
*) env --default-signal=HUP sh "$script" || status=$? ;;
esac
exit "$status"
