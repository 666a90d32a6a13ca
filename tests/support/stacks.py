# SPDX-License-Identifier: MIT
"""Stacks as tests/e2e/stack_walk prints them, and as eu-stack and gdb do: {tid: [addresses]}."""
import os
import re
import signal
import subprocess
import sys
import time

WALK = os.environ["BUILD"] + "/tests/e2e/stack_walk"
GDB_SCRIPT = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread", thread.ptid[1])
    frame = gdb.newest_frame()
    while frame is not None:
        # Neither is on the stack: one was inlined, of the other only the tail call is known.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("frame %x" % frame.pc())
        frame = frame.older()
"""


class Stack:
    """One thread: addresses, how each was found, names with offsets, paths, and why it ended."""

    def __init__(self):
        self.addresses, self.how, self.names, self.paths, self.end = [], [], [], [], ""


def ours(*arguments):
    """{tid: Stack} of a process or a core file."""
    done = subprocess.run([WALK, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"stack_walk {arguments}: {done.stdout[-500:]}{done.stderr}")
    stacks, stack = {}, None
    for line in done.stdout.splitlines():
        first, rest = line.split(" ", 1)
        if first == "thread":
            stack = stacks[int(rest)] = Stack()
        elif first == "end":
            stack.end = rest
        else:
            address, how, name, path = re.fullmatch(r"(\w+) (.*) (\S+\+0x\w+) (.*)", rest).groups()
            stack.addresses.append(int(address, 16))
            stack.how.append(how)
            stack.names.append(name)
            stack.paths.append(path)
    return stacks


def eu_stack(pid):
    text = subprocess.run(["eu-stack", "-n", "0", "-p", str(pid)], capture_output=True, text=True,
                          check=False).stdout
    stacks, stack = {}, None
    for line in text.splitlines():
        if found := re.match(r"TID (\d+):", line):
            stack = stacks[int(found[1])] = []
        elif found := re.match(r"#\d+\s+0x([0-9a-f]+)", line):
            stack.append(int(found[1], 16))
    return stacks


def gdb(program, core):
    """Of a core file; gdb stops at main unless it is told not to."""
    with open("gdb.py", "w", encoding="ascii") as f:
        f.write(GDB_SCRIPT)
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set backtrace past-main on",
                           "-ex", "set backtrace past-entry on", "-ex", "set debuginfod enabled off",
                           "-x", "gdb.py", program, core],
                          capture_output=True, text=True, check=False).stdout
    stacks, stack = {}, None
    for line in text.splitlines():
        if found := re.fullmatch(r"thread (\d+)", line):
            stack = stacks[int(found[1])] = []
        elif found := re.fullmatch(r"frame (\w+)", line):
            stack.append(int(found[1], 16))
    return stacks


def wait_busy(pid, seconds=60):
    """Until the process has used half a second of CPU: it is where it stays then."""
    for _ in range(seconds * 10):
        time.sleep(0.1)
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            ticks = f.read().rsplit(")", 1)[1].split()[11:13]
        if sum(map(int, ticks)) >= os.sysconf("SC_CLK_TCK") / 2:
            return True
    return False


def states(pid):
    """Of each thread, as letters of /proc/PID/stat; none if the process is gone."""
    found = []
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for tid in tids:
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
                found.append(f.read().rsplit(")", 1)[1].split()[0])
        except OSError:
            pass
    return found


def wait_asleep(pid, seconds=20):
    """Until every thread of the process sleeps, three times in a row; false if it ends before."""
    calm = 0
    for _ in range(seconds * 10):
        time.sleep(0.1)
        found = states(pid)
        if not found:
            return False
        calm = calm + 1 if set(found) <= {"S", "T"} else 0
        if calm == 3:
            return True
    return False


def stop(pid, seconds=60):
    """Stops a process; true once all its threads stand still."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(seconds * 100):
        time.sleep(0.01)
        if set(states(pid)) == {"T"}:
            return True
    return False


def may_trace():
    """Whether this machine lets us trace what is not our child."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as f:
            return f.read().strip() == "0" or os.geteuid() == 0
    except OSError:
        return True
