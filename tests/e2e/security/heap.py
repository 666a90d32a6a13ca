#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a process maps as a heap state is read by its header, and written only where it is the
process's own."""
import os
import struct
import subprocess

from checks import check, finish, skip, under_asan
from hostile import CAIRN, Run, as_eve, give, limit_memory, setup

GB = 1 << 30
CPU_S = 30 if under_asan() else 10
CHUNK, N_CHUNKS_AT = 65536, 60
MAPPER = """
import mmap, sys, time
f = open(sys.argv[1], "r+b")
kept = mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED)
print("up", flush=True)
time.sleep(120)
"""


def mapper(path, size):
    if size:
        os.truncate(path, size)
    give(path)
    process = as_eve("/usr/bin/python3", "-c", MAPPER, os.path.abspath(path), stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def bounded(run, what):
    check(run.in_time and run.cpu < CPU_S, f"{what}: takes long", run)
    check(run.mb < 600 or under_asan(), f"{what}: takes memory", run)


setup("setpriv")
limit_memory(200000)
targets = []
with open("eve/empty.heap", "wb"):
    pass
targets.append(mapper("eve/empty.heap", 6 * GB))
for words in (["leaks"], ["report"], ["top", "-n", "1"], ["mark"]):
    run = Run("heap", words[0], *words[1:], str(targets[-1].pid))
    bounded(run, f"6 GB of holes, {words[0]}")
    check(run.status != 0, f"6 GB of holes, {words[0]}: taken for a state", run)
    check("does not begin with" in run.err or words[0] == "top", f"{words[0]}: why not", run)

# A true state at its begin, a header that claims all of the file, and rows that are all leaves.
tracked = subprocess.run([CAIRN, "heap", "run", "-o", "true.heap.gz", "--", "/bin/true"],
                         capture_output=True, check=False)
if tracked.returncode:
    skip("no state to begin with: " + tracked.stderr.decode(errors="replace")[:200])
state = subprocess.run(["gzip", "-dc", "true.heap.gz"], capture_output=True, check=True).stdout
check(state.startswith(b"cairnheap"), "a state to begin with")
os.environ["MALLOC_PERTURB_"] = "75"  # glibc writes to all that is allocated: none of it is for holes
for gigabytes in (2, 6):
    claim = bytearray(state)
    struct.pack_into("<I", claim, N_CHUNKS_AT, gigabytes * GB // CHUNK)
    rows = 4096 + 16 * (len(state) // CHUNK)
    for at in range(rows, CHUNK, 16):
        struct.pack_into("<HHIQ", claim, at, 2, 4, 1, at << 32)
    with open(f"eve/claims{gigabytes}.heap", "wb") as file:
        file.write(claim)
    targets.append(mapper(f"eve/claims{gigabytes}.heap", gigabytes * GB))
    for words in (["leaks"], ["report"]):
        bounded(Run("heap", words[0], str(targets[-1].pid)),
                f"a header that claims {gigabytes} GB, {words[0]}")
del os.environ["MALLOC_PERTURB_"]

# A state that became a bomb for whoever unpacks.
import gzip  # noqa: E402
with open("eve/zipped.heap", "wb") as file:
    file.write(gzip.compress(bytes(64 << 20)) * 30)
targets.append(mapper("eve/zipped.heap", 0))
run = Run("heap", "leaks", str(targets[-1].pid))
bounded(run, "a packed state of a process")
check(run.status != 0, "a packed state of a process is refused", run)

# Root marks a process whose state file is a link by now, again and again: root's file stays.
with open("precious", "wb") as file:
    file.write(bytes(len(state)))
before = open("precious", "rb").read()
RACER = """
import mmap, os, sys, time
state, precious = sys.argv[1], sys.argv[2]
data = open(state, "rb").read()
print("up", flush=True)
end = time.time() + 5
while time.time() < end:
    with open(state, "r+b") as f:
        kept = mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED)
    os.rename(state, state + ".kept")
    os.symlink(precious, state)
    kept.close()
    os.unlink(state)
    os.rename(state + ".kept", state)
"""
with open("eve/race.heap", "wb") as file:
    file.write(state)
give("eve/race.heap")
racer = as_eve("/usr/bin/python3", "-c", RACER, os.path.abspath("eve/race.heap"),
               os.path.abspath("precious"), stdout=subprocess.PIPE)
racer.stdout.readline()
tries = 0
while racer.poll() is None:
    Run("heap", "mark", str(racer.pid))
    tries += 1
check(open("precious", "rb").read() == before, "root's file was marked")
check(tries > 3, f"only {tries} attempts")
for target in targets:
    target.kill()
    target.wait()
finish("header first, holes skipped, and nothing of another's is written")
