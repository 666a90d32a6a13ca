#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that src/attach/late_calls.c has each system call of libcairn-track: check_late_calls.py ROOT SOURCE...

A process with a filter of system calls may be ended by one that is not in the list. SOURCE... are the
library's own. What a call is for that is not in the list stands in ELSEWHERE.
"""
import pathlib
import re
import sys

ELSEWHERE = {
    # Of other CPUs, or the same call by another name.
    "mmap2": "32-bit CPUs", "fstat64": "32-bit CPUs", "ftruncate64": "32-bit CPUs",
    "futex_time64": "32-bit CPUs",
    # heap/lost_child.c: asked for by the program itself, through memory_tracker_get_lost_report().
    "clone": "lost", "wait4": "lost", "exit_group": "lost", "dup3": "lost", "close_range": "lost",
    "execve": "lost", "rt_sigaction": "lost", "pipe2": "lost", "prctl": "lost",
    # unwind/thread.c and rt/socket.c are in the library, but nothing of it asks for other threads' stacks
    # or for a look at the end.
    "rt_tgsigqueueinfo": "threads",
    "socket": "ask", "connect": "ask", "sendto": "ask", "getsockopt": "ask",
}


def main():
    root = pathlib.Path(sys.argv[1])
    listed = set(re.findall(r"^ {4}(?:NEEDED|WANTED)\((\w+),", (root / "src/attach/late_calls.c").read_text(),
                            re.M))
    made, wrong = {}, 0
    for source in sys.argv[2:]:
        text = pathlib.Path(source).read_text()
        for name in re.findall(r"\bSYS_([a-z]\w*)\b", text):
            made.setdefault(name, source)
    for name, source in sorted(made.items()):
        if name not in listed and name not in ELSEWHERE:
            print(f"{source}: calls {name}, which src/attach/late_calls.c has not")
            wrong += 1
    for name in sorted((listed | set(ELSEWHERE)) - set(made) - {"exit"}):
        print(f"src/attach/late_calls.c or this test has {name}, which libcairn-track never calls")
        wrong += 1
    print(f"{len(made)} system calls in {len(sys.argv) - 2} files")
    return bool(wrong) or len(made) < 30


sys.exit(main())
