#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two programs of one path, build ID, size and layout in one recording: another user mounted the second
one over the first in a mount namespace of its own. Each keeps its own names and its own stacks."""
import os
import subprocess
import time

from checks import check, finish, skip
from hostile import EVE, WORK, Run, give, setup

SOURCE = """
__attribute__((noinline)) int honest_leaf(volatile int *a) { for (int i = 0; i < 1000; i++) ++*a; return *a; }
__attribute__((noinline)) int honest_spin(volatile int *a) { int n = 0; while (*a) n += honest_leaf(a) | 1; return n; }
int main(void) { volatile int a = 1; return honest_spin(&a); }
"""
setup("gcc", "unshare", "mount")
with open("prog.c", "w", encoding="utf-8") as file:
    file.write(SOURCE)
if subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567",
                   "prog.c", "-o", "prog"], check=False).returncode:
    skip("gcc refused the program")
with open("prog", "rb") as file:
    data = file.read()
with open("eve/prog", "wb") as file:
    file.write(data.replace(b"honest_", b"wicked_"))
os.chmod("eve/prog", 0o755)
give("eve/prog")
there = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c",
                          f"mount --bind {WORK}/eve/prog {WORK}/prog && exec setpriv --reuid={EVE} "
                          f"--regid={EVE} --clear-groups -- {WORK}/prog"])
time.sleep(0.5)
if there.poll() is not None:
    skip("no mount namespace here")
here = subprocess.Popen([f"{WORK}/prog"])
try:
    for method in ([], ["--method", "perf"], ["--method", "dump"]):
        run = Run("record", "-p", str(there.pid), "-p", str(here.pid), "-d", "2", *method, "--force",
                  "-o", "both.txt")
        if run.status and method:
            continue
        check(run.status == 0, f"record {method}", run)
        count = {"honest_spin": 0, "wicked_spin": 0}
        with open("both.txt", encoding="utf-8") as lines:
            for line in lines:
                for name in count:
                    count[name] += int(line.split()[-1]) if name in line else 0
        check(min(count.values()) * 8 > max(count.values()), f"{method}: {count}", run)
finally:
    for process in (here, there):
        process.kill()
        process.wait()
finish("each program has its own names")
