#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the C header that holds a program for the kernel: build.py CLANG BPFTOOL SOURCE HEADER
DEPFILE FOLDER,FOLDER COMPILER...

NAME.light.h loads itself by bare system calls, NAME.skel.h by libbpf. Our own headers are in the
folders; where Linux's are is asked of the compiler, for the CPU that it compiles for.
"""
import os
import re
import subprocess
import sys


def system_folders(compiler):
    text = subprocess.run([*compiler, "-v", "-E", "-x", "c", os.devnull], check=True, text=True,
                          env=dict(os.environ, LC_ALL="C"), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE).stderr
    found = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", text, re.S)
    return [line.strip() for line in found[1].splitlines()] if found else ["/usr/include"]


def main():
    clang, bpftool, source, header, depfile, folders = sys.argv[1:7]
    name = os.path.basename(source).removesuffix(".bpf.c")
    whole, bare = header + ".o", header + ".bare.o"
    ours = [f"-I{folder}" for folder in folders.split(",")]
    # The kernel gets the names of source files: as they lie in the tree, wherever that is.
    ours += [f"-ffile-prefix-map={os.path.dirname(folder)}/=" for folder in folders.split(",")]
    after = [word for place in system_folders(sys.argv[7:]) for word in ("-idirafter", place)]
    # mcpu: what every kernel since 5.1 takes. -g: the types that are looked for in the kernel.
    # Freestanding: clang's own <stdint.h>, for libc's knows no such machine.
    subprocess.run([clang, "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
                    "-std=gnu17", "-ffreestanding", "-fdebug-compilation-dir=.", *ours, *after,
                    "-MD", "-MF", depfile, "-MQ", header, "-c", os.path.abspath(source), "-o", whole], check=True)
    subprocess.run([bpftool, "gen", "object", bare, whole], check=True)  # without line numbers
    kind = ["-L"] if header.endswith(".light.h") else []
    text = subprocess.run([bpftool, *kind, "gen", "skeleton", bare, "name", name + "_bpf"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    with open(header, "w", encoding="ascii") as file:
        file.write("#pragma GCC system_header\n" + text)


main()
