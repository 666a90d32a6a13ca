#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that the rooms of bytes in, answers out do no I/O: check_pure.py LIBRARY...

Their archives may have no undefined symbol that opens a file, prints, knows a process or reads the
environment; and none of any room may end the process.
"""
import pathlib
import re
import subprocess
import sys

PURE = {"symlist", "elf", "code", "hook", "dwarf", "profile", "select", "formats", "klog", "picture", "reach"}
NO_IO = re.compile(
    r"^(__)?(f|fd|re|p)?(open(at)?(64)?(_2)?|openfile|popen|p?readv?(64)?|p?writev?(64)?|creat(64)?"
    r"|mmap(64)?|stat(64)?|statx|fstat\w*|lstat\w*|access|getenv|secure_getenv|getpid|gettid"
    r"|system|fork|vfork|exec\w+|v?f?printf|v?dprintf|puts|fputs|fputc|putc|putchar|perror|fwrite"
    r"|v?f?printf_chk|stdin|stdout|stderr|unlink|rename|socket|ptrace|kill|signal|sigaction"
    r"|gettimeofday|clock_gettime|time|rand|srand)$")
NO_END = re.compile(r"^(exit|_exit|_Exit|quick_exit|abort|err|errx|cplus_demangle)$")
FORKS = {"base", "proc", "doctor", "attach"}  # their children end by _exit when they cannot become the command, or are done


def undefined(archive):
    text = subprocess.run(["nm", "-P", "-u", archive], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    where = "?"
    for line in text.splitlines():
        if line.endswith(":"):
            where = re.sub(r".*[\[/]([^\]/]+)\]?:$", r"\1", line)
        elif line.strip():
            yield where, line.split()[0]


def main():
    wrong = read = 0
    for archive in map(pathlib.Path, sys.argv[1:]):
        room = archive.stem.removeprefix("lib")
        for where, name in undefined(archive):
            read += 1
            if room in PURE and NO_IO.match(name):
                print(f"{room}/: {where} calls {name}: this room opens nothing and prints nothing")
                wrong += 1
            if NO_END.match(name) and not (room in FORKS and name == "_exit"):
                print(f"{room}/: {where} calls {name}: a library does not end the process")
                wrong += 1
    print(f"{read} undefined symbols read")
    return bool(wrong) or not read


sys.exit(main())
