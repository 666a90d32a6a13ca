#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command with stdout on a terminal: terminal.py COLUMNS COMMAND... What it prints comes out
on our stdout; the exit status is the command's."""
import fcntl
import os
import struct
import subprocess
import sys
import termios


def main():
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 40, int(sys.argv[1]), 0, 0))
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST  # line ends as they were written
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=slave)
    os.close(slave)
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # EIO: the other end is closed
            break
        if not data:
            break
        sys.stdout.buffer.write(data)
    return child.wait()


sys.exit(main())
