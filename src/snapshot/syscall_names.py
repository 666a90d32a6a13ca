#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows {"name", number} of all system calls that a compiler's headers know: syscall_names.py CC..."""
import re
import subprocess
import sys

run = subprocess.run([*sys.argv[1:], "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                     capture_output=True, text=True, check=True)
rows = {}
for line in run.stdout.splitlines():
    # arm counts from a base, which is 0 for what is compiled today.
    found = re.match(r"#define __NR_([a-z]\w*) (?:\(__NR_SYSCALL_BASE ?\+ ?)?(\d+)\)?$", line)
    if found:
        rows[found[1]] = int(found[2])
for name, number in sorted(rows.items(), key=lambda row: (row[1], row[0])):
    print(f'{{"{name}", {number}}},')
