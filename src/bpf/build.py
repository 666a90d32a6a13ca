#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the C header that holds a program for the kernel: build.py CLANG BPFTOOL SOURCE_FOLDER
SOURCE HEADER DEPFILE.

NAME.light.h loads itself by bare system calls, NAME.skel.h by libbpf. Where Linux's own headers are
is asked of clang, as it would compile for here.
"""
import os
import re
import subprocess
import sys


def system_folders(clang):
    text = subprocess.run([clang, "-v", "-E", "-x", "c", os.devnull], check=True, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    found = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", text, re.S)
    return [line.strip() for line in found[1].splitlines()] if found else ["/usr/include"]


def main():
    clang, bpftool, folder, source, header, depfile = sys.argv[1:]
    name = os.path.basename(source).removesuffix(".bpf.c")
    whole, bare = header + ".o", header + ".bare.o"
    after = [word for place in system_folders(clang) for word in ("-idirafter", place)]
    # mcpu: what every kernel since 5.1 takes. -g: the types that are looked for in the kernel.
    # Freestanding: clang's own <stdint.h>, for libc's knows no such machine.
    subprocess.run([clang, "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
                    "-std=gnu17", "-ffreestanding", f"-I{folder}", *after,
                    "-MD", "-MF", depfile, "-MQ", header, "-c", source, "-o", whole], check=True)
    subprocess.run([bpftool, "gen", "object", bare, whole], check=True)  # without line numbers
    kind = ["-L"] if header.endswith(".light.h") else []
    text = subprocess.run([bpftool, *kind, "gen", "skeleton", bare, "name", name + "_bpf"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    with open(header, "w", encoding="ascii") as file:
        file.write("#pragma GCC system_header\n" + text)


main()
