#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows {"NAME", number} of macros that a compiler's headers define: number_names.py KIND HEADER CC...;
without the header: none. KIND is call, error or signal."""
import re
import subprocess
import sys

PATTERNS = {"call": r"__NR_([a-z]\w*)$", "error": r"(E[A-Z0-9]+)$", "signal": r"(SIG[A-Z0-9]+)$"}
# A number, or another macro's: of those that 32 bits have, too, aarch64 says #define __NR_mmap
# __NR3264_mmap. arm counts from a base, which is 0 for what is compiled today.
VALUE = r"(?:\(__NR_SYSCALL_BASE ?\+ ?)?(\d+)\)?$|(__NR3264_\w+)$"
pattern, header, compiler = PATTERNS[sys.argv[1]], sys.argv[2], sys.argv[3:]
run = subprocess.run([*compiler, "-E", "-dM", "-include", header, "-x", "c", "/dev/null"],
                     capture_output=True, text=True, check=False)
lines = run.stdout.splitlines() if run.returncode == 0 else []
macros = dict(re.findall(r"^#define (\w+) (.+)$", "\n".join(lines), re.M))
rows = {}
for macro, value in macros.items():
    name, number = re.match(pattern, macro), re.match(VALUE, value)
    if name and number and number[2]:
        number = re.match(VALUE, macros.get(number[2], ""))
    if name and number:
        rows[name[1]] = int(number[1])
for name, number in sorted(rows.items(), key=lambda row: (row[1], row[0])):
    print(f'{{"{name}", {number}}},')
