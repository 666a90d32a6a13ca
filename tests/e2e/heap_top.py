#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn heap top on a terminal: what stands on its screen, what its keys do."""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

CAIRN = os.environ["CAIRN"]
COLUMNS, LINES = 110, 24
n_checks = 0


children = []


def fail(what, screen=None):
    for child in children:
        if child.poll() is None:
            child.terminate()
    print(f"FAIL: {what}")
    if screen:
        print("\n".join("    |" + line for line in screen.lines()))
    sys.exit(1)


class Screen:
    """As much of a vt100 as ncurses makes use of."""

    def __init__(self):
        self.cells = [[" "] * COLUMNS for _ in range(LINES)]
        self.x = self.y = 0
        self.rest = ""

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def clear(self, first, last):
        """Cells by number, over all lines."""
        for at in range(first, last):
            self.cells[at // COLUMNS][at % COLUMNS] = " "

    def control(self, parameters, letter):
        numbers = [int(n) if n else 0 for n in parameters.lstrip("?").split(";")]
        n, here = max(numbers[0], 1), self.y * COLUMNS + self.x
        if letter in "Hf":
            self.y = min(n, LINES) - 1
            self.x = min(max(numbers[1] if len(numbers) > 1 else 1, 1), COLUMNS) - 1
        elif letter in "ABCD":
            self.y = min(max(self.y + {"A": -n, "B": n}.get(letter, 0), 0), LINES - 1)
            self.x = min(max(self.x + {"C": n, "D": -n}.get(letter, 0), 0), COLUMNS - 1)
        elif letter == "J":
            self.clear(0 if numbers[0] else here, LINES * COLUMNS)
        elif letter == "K":
            start = self.y * COLUMNS
            self.clear(start if numbers[0] else here, here if numbers[0] == 1 else start + COLUMNS)
        elif letter not in "mhlr":
            fail(f"a sequence that is none of a vt100: {parameters}{letter}")

    def put(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.y = min(self.y + 1, LINES - 1)
        elif char == "\b":
            self.x = max(self.x - 1, 0)
        elif char >= " ":
            self.cells[self.y][min(self.x, COLUMNS - 1)] = char
            self.x += 1

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        while text:
            sequence = re.match(r"\033\[([\d;?]*)([A-Za-z])|\033[()][A-Z0-9]|\033[^\[()]|[\016\017]",
                                text)
            if sequence:
                if sequence[2]:
                    self.control(sequence[1], sequence[2])
                text = text[sequence.end():]
            elif text[0] == "\033":
                self.rest = text
                return
            else:
                self.put(text[0])
                text = text[1:]


class Top:
    def __init__(self, *words):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
        self.child = subprocess.Popen([CAIRN, "heap", "top", *words], stdin=slave, stdout=slave,
                                      stderr=slave, env={**os.environ, "TERM": "vt100"})
        children.append(self.child)
        os.close(slave)
        self.screen = Screen()

    def read(self, seconds):
        end = time.monotonic() + seconds
        while select.select([self.master], [], [], max(end - time.monotonic(), 0))[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other end is closed
                return
            self.screen.feed(data.decode(errors="replace"))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait(self, pattern, what, absent=False):
        """Until a line matches, or none does."""
        global n_checks
        n_checks += 1
        for _ in range(100):
            self.read(0.1)
            found = any(re.search(pattern, line) for line in self.screen.lines())
            if found != absent:
                return
        fail(f"{what}: {'still' if absent else 'no'} {pattern!r}", self.screen)

    def order(self, *names):
        """The places of the rows of functions, from the top."""
        places = [next((i for i, line in enumerate(self.screen.lines()[4:-1])
                        if re.search(rf"  {name} ", line)), None) for name in names]
        if None in places:
            fail(f"rows of {names}", self.screen)
        return sorted(names, key=lambda name: places[names.index(name)])

    def end(self, key, what):
        global n_checks
        n_checks += 1
        self.press(key)
        self.read(1)
        try:
            status = self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            fail(f"{what}: it does not end", self.screen)
        if status != 0:
            fail(f"{what}: status {status}", self.screen)
        os.close(self.master)


def same(what, got, wanted):
    global n_checks
    n_checks += 1
    if got != wanted:
        fail(f"{what}: {got}, expected {wanted}")


def start_program(words=("./program", "wait"), function=b"keep"):
    run = subprocess.Popen([CAIRN, "heap", "run", "--force", "-o", "top.heap", "--", *words],
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children.append(run)
    for _ in range(100):
        pids = subprocess.run(["pgrep", "-P", str(run.pid), "-x", os.path.basename(words[0])], text=True,
                              stdout=subprocess.PIPE).stdout.split()
        if pids and function in subprocess.run([CAIRN, "heap", "leaks", pids[0]],
                                              stdout=subprocess.PIPE,
                                              stderr=subprocess.DEVNULL).stdout:
            return run, pids[0]
        time.sleep(0.1)
    fail("the program does not start")


def use_keys(run, pid):
    top = Top("--every", "0.3", pid)
    top.wait(rf"process {pid}: \./program wait", "whose it is")
    top.wait(r"live 5\.0 MB in \d+ blocks", "the sums")
    top.wait(r"5\.0 MB +1 .*  keep \(heap_program\.c", "the largest stack")
    same("by live bytes", top.order("keep", "lose"), ["keep", "lose"])
    run.stdin.write(b"\n")
    run.stdin.flush()
    top.wait(r"7\.7 kB +100 +~\+\d", "what grew meanwhile, reckoned on a minute")
    top.wait(r", ~\+\d.* a minute \(seen for \d+ s\);", "over which time it was seen")
    top.press("g")
    top.wait(r"\*GROWTH", "the order is said")
    same("by growth", top.order("keep", "grow"), ["grow", "keep"])
    top.press("b")
    top.wait(r"\*BLOCKS", "the order is said")
    same("by blocks", top.order("keep", "grow", "lose")[0], "grow")
    top.press("r")
    top.wait(r"\*ALLOCS", "the order is said")
    top.press("l/gro")
    top.wait(r"filter: gro_", "the filter while it is typed")
    top.wait(r"  keep ", "what is filtered out", absent=True)
    top.press("w\r")
    top.wait(r"filter: grow$", "the filter")
    top.wait(r"^1 stack ", "stacks that pass the filter")
    top.press("\r")
    top.wait(r"^ +main \(heap_program\.c:\d+\)", "the whole stack")
    top.wait(r"^ +_start", "its root")
    top.press("\r/\033")
    top.wait(r"  keep ", "without a filter")
    top.press("p")
    top.wait(r"\[paused\]", "a pause")
    top.press("p")
    top.wait(r"\[paused\]", "no pause", absent=True)
    top.press("\033OB\033[B\033OA\r")
    top.wait(r"Esc list", "the stack of another row")
    return top


def show_lost():
    """What is lost beside what lives; the thread that looks ends with the screen."""
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-pthread", "-o", "ends",
                    os.path.join(os.environ["SRC"], "tests/e2e/heap_exit.c")], check=True)
    run, pid = start_program(("./ends", "60"), b"lose")
    top = Top("--every", "0.3", "--lost", "--sort", "lost", pid)
    top.wait(r"LIVE +\*LOST +BLOCKS", "the column")
    top.wait(r"(nothing is claimed to be )?lost.*(ago|read)", "a look at what is lost")
    if not any("nothing is claimed" in line for line in top.screen.lines()):
        top.wait(r"^\d+ stacks   lost 11\.5 kB in 11 blocks, \d s ago", "the sum of what is lost")
        top.wait(r"10\.0 kB +10\.0 kB +10 .*  lose \(heap_exit\.c", "what is lost of a stack")
        same("by lost bytes", top.order("lose", "ignore"), ["lose", "ignore"])
    top.press("lo")
    top.wait(r"\*LOST", "the order is said")
    top.end("q", "q while it looks")
    run.terminate()
    run.wait()


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        print("skipped: there is no libcairn-heap.so")
        sys.exit(77)
    source = os.path.join(os.environ["SRC"], "tests/e2e/heap_program.c")
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-fno-inline", "-o", "program", source],
                   check=True)
    done = subprocess.run([CAIRN, "heap", "top", "1"], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same("without a terminal", (done.returncode, "needs a terminal" in done.stderr), (1, True))
    done = subprocess.run([CAIRN, "heap", "top", "--sort", "lost", "1"], text=True, stderr=subprocess.PIPE)
    same("lost is not asked for", (done.returncode, "with --lost only" in done.stderr), (2, True))
    run, pid = start_program()
    top = use_keys(run, pid)
    if any("built without ncurses" in line for line in top.screen.lines()):
        print("skipped: built without ncurses")
        sys.exit(77)
    narrow = Top("--every", "0.3", "--sort", "growth", "--filter", "lose", pid)
    narrow.wait(r"^3 stacks   filter: lose$", "options")
    narrow.end("q", "q")
    # The process ends: the last look stays.
    run.stdin.close()
    run.wait()
    top.wait(r"\[ended\]", "the process ended")
    top.press("\033")
    top.wait(r"5\.0 MB +1 .*  keep ", "the last look")
    top.end("q", "q after the end")
    # A terminal that goes away ends it.
    run, pid = start_program()
    top = Top(pid)
    top.wait(r"process", "a second process")
    os.close(top.master)
    same("a terminal that is gone", top.child.wait(10) in (0, -signal.SIGHUP), True)
    run.stdin.close()
    run.wait()
    show_lost()
    print(f"cairn heap top: {n_checks} checks")


main()
