#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of 137 kB that say the same many times over (bomb_elf.py): an index of each has a bound that
follows from its size, --max-memory holds, and the answers are those without an index."""
import os
import subprocess
import sys

import bomb_elf
from checks import under_asan

CAIRN = os.environ["CAIRN"]
SIZE = 137000
ALLOWED_MB = 100  # 64 MB for any file, 16 bytes a byte, and the process itself
BOUND_MB = 24
ADDRESSES = ["0x1000", "0x1010", "0x1101", "0x4321", "0x100fff"]
failures = []


def run(file, *options):
    """Output, peak of memory in MB, seconds of CPU."""
    argv = [CAIRN, "symbolize", "--no-cache", "--max-memory", "1G", *options, file, *ADDRESSES]
    # What meson has malloc write to all memory, used or not, would count as used.
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    out = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        failures.append(f"{file} {options}: status {status}")
    return out, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def check(what, value, most):
    if value > most:
        failures.append(f"{what}: {value:.1f}, at most {most} expected")


def main():
    sanitized = under_asan()  # whose own memory is none of the command's
    peaks = []
    for kind in bomb_elf.KINDS:
        file = kind + ".elf"
        with open(file, "wb") as out:
            out.write(bomb_elf.make(kind, SIZE))
        wanted, _, _ = run(file, "--index", "never")
        got, peak, seconds = run(file, "--index", "always")
        bounded, less, _ = run(file, "--index", "always", "--max-memory", f"{BOUND_MB}M")
        if got != wanted or bounded != wanted:
            failures.append(f"{kind}: an index gives other answers")
        check(f"{kind}: seconds", seconds, 60 if sanitized else 15)
        if not sanitized:
            check(f"{kind}: MB", peak, ALLOWED_MB)
            check(f"{kind}: MB with --max-memory {BOUND_MB}M", less, BOUND_MB + 32)
        peaks.append(peak)
    for failure in failures:
        print("FAIL:", failure)
    print(f"{len(bomb_elf.KINDS)} files of {SIZE} bytes: at most {max(peaks):.0f} MB")
    return 1 if failures else 0


sys.exit(main())
