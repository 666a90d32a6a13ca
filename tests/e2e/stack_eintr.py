#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No system call returns EINTR to a program whose stacks are taken, by whatever way.

Eleven blocking calls, each in a process of its own, looked at ten times by each way: by those that
stop nobody, and by ptrace, which mends what its stops end. At the end a tracer that mends nothing
shows that the test could fail.
"""
import json
import os
import subprocess
import sys

CAIRN, BUILD = os.environ["CAIRN"], os.environ["BUILD"]
LOOKS = 10


class Waiters:
    """The program, and what it says of its calls."""

    def __init__(self):
        self.process = subprocess.Popen([f"{BUILD}/tests/e2e/stack_eintr"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pids = dict(line.split() for line in self.lines("ready"))

    def lines(self, end):
        while (line := self.process.stdout.readline().strip()) != end:
            if not line:
                sys.exit("FAIL: stack_eintr ended")
            yield line

    def tell(self):
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return dict(line.split(" ", 1) for line in self.lines("told"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def look(pids, *options):
    done = subprocess.run([CAIRN, "stack", "--json", *options, *pids], text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def ways(text):
    found = {}
    for process in json.loads(text)["processes"]:
        for thread in process["threads"]:
            found[thread["method"]] = found.get(thread["method"], 0) + 1
    return found


def check_way(method, options, wanted):
    """Returns whether the way is there."""
    waiters = Waiters()
    pids = list(waiters.pids.values())
    for _ in range(LOOKS):
        code, text, error = look(pids, *options)
        if code and method in ("iterator", "ptrace"):
            print(f"skipped: {method}: {error.strip()}")
            waiters.end()
            return False
        if code or ways(text) != {wanted: len(pids)}:
            sys.exit(f"FAIL: {method}: status {code}, {ways(text) if text else error}")
    told = waiters.tell()
    waiters.end()
    ended = {name: what for name, what in told.items() if what != "blocked"}
    if ended:
        sys.exit(f"FAIL: {method}: came back after {LOOKS} looks: {ended}")
    print(f"{method}: {len(told)} calls, looked at {LOOKS} times, none came back")
    return True


def check_sensitivity():
    waiters = Waiters()
    done = subprocess.run([f"{BUILD}/tests/e2e/stack_eintr", "interrupt", *waiters.pids.values()], check=False)
    told = waiters.tell()
    waiters.end()
    ended = sorted(name for name, what in told.items() if what == "-1 EINTR")
    if done.returncode:
        print("skipped: ptrace: it is not allowed")
    elif "epoll_wait" not in ended:
        sys.exit(f"FAIL: a stop ended no epoll_wait, so this test sees nothing: {told}")
    else:
        print(f"a stop that is not mended: EINTR from {', '.join(ended)}")


def main():
    has_iterator = check_way("iterator", ["--method=iterator"], "iterator")
    check_way("memory", ["--method=memory"], "memory")
    check_way("--no-stop", ["--no-stop"], "iterator" if has_iterator else "memory")
    if os.uname().machine == "x86_64":
        check_way("ptrace", ["--method=ptrace"], "ptrace")
    else:
        print(f"skipped: ptrace: a stop cannot be mended on {os.uname().machine}")
    check_sensitivity()


main()
