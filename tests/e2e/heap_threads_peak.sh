#!/bin/bash
# SPDX-License-Identifier: MIT
# The peak of a process is right to 1 % at any number of threads, or its bound is printed.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
[ -e "$BUILD/libcairn-heap.so" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
gcc -O1 -fno-builtin -pthread -o peak "$SRC/tests/e2e/heap_threads_peak.c" || exit 1

# near THREADS BLOCKS BYTES: the peak that is told, against what the program has. libc adds some hundred bytes a thread.
near() {
    "$CAIRN" heap run -f -o peak.heap -- ./peak "$@" 2>log || fail "$*: exit status $?" log
    "$CAIRN" heap report --json peak.heap >out 2>err || fail "$*: report" err
    local threads=$1 truth
    truth=$(((threads > 0 ? threads : 1) * ($2 * $3 + 8 * $2) + threads * (8 + 288)))
    n_checks=$((n_checks + 1))
    python3 - "$truth" "$*" <<'PY' || fail "$*: the peak" log
import json, sys
truth, report = int(sys.argv[1]), json.load(open("out"))
threads = int(sys.argv[2].split()[0])
peak, n = report["peak_bytes"], threads + 1 if threads else 1  # tables of what was not handed in
# Each thread holds back a share of 1/256, and 2 KiB where that is less than 1/64 (rt/heap_state.h).
up = max((peak >> 8) // n, min(2048, peak >> 6)) if n > 1 else peak >> 7
down = max((peak >> 8) // n, 2048)
derived = 2 * n * max(up, down) if n > 1 else up
error, bound = abs(report["peak_bytes"] - truth), report["peak_bound_bytes"]
said = "(right to" in open("log").read()
print(f'{sys.argv[2]}: peak {report["peak_bytes"]}, truth {truth}, bound {bound}')
if bound != derived:
    raise SystemExit(f"the bound is {bound}, and by threads and peak {derived}")
raise SystemExit(error > truth / 100 and (error > bound or not said) or said != (bound > report["peak_bytes"] / 100))
PY
}

near 0 1 3000    # one block, freed
near 0 300 100
near 0 20000 100
near 1 2 3000
near 8 100 600
near 50 1000 600
near 200 1000 600
near 400 50 40
near 1000 10 3000
finish "right to 1 %, or as told ($n_checks checks)"
