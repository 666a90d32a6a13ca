#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command with stdout on a terminal: terminal.py COLUMNS COMMAND... What it prints comes out
on our stdout; the exit status is the command's.

The kernel hands a terminal's text on later than it is written, and may forget it where the other end
is closed. So that end stays open, and a mark behind the text tells that all of it came.
"""
import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading

MARK = b"\0the command has ended\0"


def main():
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 40, int(sys.argv[1]), 0, 0))
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST  # line ends as they were written
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=slave)
    threading.Thread(target=lambda: (child.wait(), os.write(slave, MARK)), daemon=True).start()
    text = b""
    while not text.endswith(MARK):
        text += os.read(master, 65536)
    sys.stdout.buffer.write(text.removesuffix(MARK))
    return child.wait()


sys.exit(main())
