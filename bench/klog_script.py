#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""klog_script.py LOG PID: what scripts do with a kernel log before they ask for the first name: find the user
addresses of one pid (0: of all). Prints how many there are, and how many different ones."""
import re
import sys

HEAD = re.compile(r"binder_open:\s+pid=(\d+)\s+comm=")
USER = re.compile(r"binder_open:\s+user backtrace")
FRAME = re.compile(r"\[u\d+\]\s+0x([0-9a-fA-F]+)")


def main():
    path, wanted = sys.argv[1], int(sys.argv[2])
    pid, inside, addresses = None, False, []
    with open(path, encoding="utf-8", errors="ignore") as log:
        for line in log:
            head = HEAD.search(line)
            if head:
                pid, inside = int(head[1]), False
            elif USER.search(line):
                inside = not wanted or pid == wanted
            elif inside:
                frame = FRAME.search(line)
                if frame:
                    addresses.append(int(frame[1], 16))
                else:
                    inside = False
    print(len(addresses), "addresses,", len(set(addresses)), "different ones")


main()
