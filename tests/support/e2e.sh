#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one end-to-end script: e2e.sh COMMAND SCRIPT. The script finds CAIRN (the command), SRC (the
# source root) and WORK (an empty folder of its own, also its current folder) in its environment;
# exit status 77 means skipped, with the reason on stdout. KEEP=1 leaves the folder.
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
unset CAIRN_CACHE_SIZE
export PYTHONPATH="$SRC/tests/support" PYTHONDONTWRITEBYTECODE=1
if [ "${KEEP:-0}" = 1 ]; then
    echo "working in $WORK"
else
    trap 'chmod -R u+rwX "$WORK" 2>/dev/null || :; rm -rf "$WORK"' EXIT
    trap 'exit 143' TERM INT HUP
fi
cd "$WORK"
status=0
case $(head -n 1 "$script") in
*python3*) /usr/bin/python3 "$script" || status=$? ;;
*bash*) bash "$script" || status=$? ;;
*) sh "$script" || status=$? ;;
esac
exit "$status"
