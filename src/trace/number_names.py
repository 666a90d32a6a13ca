#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows {"NAME", number} of macros that a compiler's headers define: number_names.py KIND HEADER CC...;
without the header: none. KIND is call, error or signal."""
import re
import subprocess
import sys

PATTERNS = {  # group 1 is the name, group 2 the number
    # arm counts from a base, which is 0 for what is compiled today.
    "call": r"#define __NR_([a-z]\w*) (?:\(__NR_SYSCALL_BASE ?\+ ?)?(\d+)\)?$",
    "error": r"#define (E[A-Z0-9]+) (\d+)$",
    "signal": r"#define (SIG[A-Z0-9]+) (\d+)$",
}
pattern, header, compiler = PATTERNS[sys.argv[1]], sys.argv[2], sys.argv[3:]
run = subprocess.run([*compiler, "-E", "-dM", "-include", header, "-x", "c", "/dev/null"],
                     capture_output=True, text=True, check=False)
rows = {}
for line in run.stdout.splitlines() if run.returncode == 0 else []:
    found = re.match(pattern, line)
    if found:
        rows[found[1]] = int(found[2])
for name, number in sorted(rows.items(), key=lambda row: (row[1], row[0])):
    print(f'{{"{name}", {number}}},')
