# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # pid is for scripts
# What scripts of tests/e2e that look into tracked programs share, behind e2e_lib.sh.

# A tracker of 64 bits, or the script is skipped.
need_tracker() {
    [ -f "$(dirname "$CAIRN")/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }
    [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] || { echo "skipped: not 64 bits"; exit 77; }
}

# begin PROGRAM [WORD...]: runs it under the tracker until `end`; $pid is its own.
begin() {
    rm -f input ready
    mkfifo input
    "$CAIRN" heap run -f -o run.heap -- "$@" <input >ready 2>run.log &
    runner=$! # other programs of that name may run on the machine
    exec 3>input
    pid=
    for _ in $(seq 200); do
        grep -q ready ready 2>/dev/null && pid=$(pgrep -P "$runner" -x "$(basename "$1")") && return
        sleep 0.05
    done
    fail "$1 does not begin" run.log
}

end() {
    exec 3>&-
    wait
}
