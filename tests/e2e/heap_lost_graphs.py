#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn heap lost, again and again while eight threads change graphs of objects: nothing that is held is
ever said to be lost, and the second look finds all that is. LOOKS says how many looks there are."""
import json
import os
import subprocess
import sys
import time

CAIRN = os.environ["CAIRN"]
LOOKS = int(os.environ.get("LOOKS", "50"))
EACH = 6  # looks between two losses


def fail(what):
    print(f"FAIL: {what}")
    sys.exit(1)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def functions(row):
    return {line["function"] for frame in row["frames"] for line in frame["lines"]}


def is_lost(row):
    return any("lose_" in name for name in functions(row))


def ask(*words):
    done = subprocess.run([CAIRN, "heap", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        fail(f"cairn heap {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


class Program:
    def __init__(self, *words):
        self.run = subprocess.Popen([CAIRN, "heap", "run", "-f", "-o", "run.heap", "--", "./graphs", *words],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    text=True)
        self.expect("ready")
        pids = subprocess.run(["pgrep", "-P", str(self.run.pid), "-x", "graphs"], text=True,
                              stdout=subprocess.PIPE).stdout.split()
        self.pid = pids[0] if pids else fail("the program is not there")

    def expect(self, word):
        line = self.run.stdout.readline().strip()
        if line != word:
            fail(f"the program said {line!r}, expected {word!r}")

    def lose(self):
        self.run.stdin.write("\n")
        self.run.stdin.flush()
        self.expect("lost")

    def truth(self):
        """Blocks that are lost: all that were born there and live."""
        rows = ask("leaks", "--top", "0", "--json", self.pid)["leaks"]
        return sum(row["blocks"] for row in rows if is_lost(row))

    def end(self):
        self.run.stdin.close()
        self.run.wait(60)


def look(program, number):
    """How many blocks it lists; all of them are lost indeed."""
    found = ask("lost", "--top", "0", "--json", program.pid)
    if found["unsure"]:
        if "without a stop" in found["unsure"] or "could not be read" in found["unsure"]:
            skip(found["unsure"])
        return None
    wrong = [row for row in found["lost_stacks"] if not is_lost(row)]
    if wrong:
        fail(f"look {number}: {json.dumps(wrong[0], indent=1)}")
    if found["possibly"]["blocks"] * 100 > found["look"]["blocks"]:
        fail(f"look {number}: {found['possibly']['blocks']} blocks possibly lost, although no pointer is doubtful")
    return found["lost"]["blocks"]


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        skip("there is no libcairn-heap.so")
    source = os.path.join(os.environ["SRC"], "tests/e2e/heap_lost_graphs.cc")
    subprocess.run(["g++", "-std=c++17", "-g", "-O2", "-pthread", "-w", "-o", "graphs", source], check=True)
    seed = os.environ.get("SEED", "1")
    program = Program("8", os.environ.get("NODES", "20000"), seed)
    truth = late = unsure = 0
    for number in range(LOOKS):
        if number % EACH == 0:
            program.lose()
            truth, since = program.truth(), 0
            time.sleep(1.1)  # so old is what is judged
        found = look(program, number)
        unsure += found is None
        if found is None:
            continue
        since += 1
        if found > truth:
            fail(f"look {number}: {found} blocks lost, {truth} are")
        late += since == 1 and found < truth
        if since > 1 and found < truth:
            fail(f"look {number}: {found} blocks lost at look {since}, {truth} are")
    program.end()
    print(f"{LOOKS} looks, no block that is held among the lost ones; {late} found some at the second look "
          f"alone, {unsure} claimed nothing")


main()
