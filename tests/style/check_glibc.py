#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that a library loads wherever glibc 2.17 is: check_glibc.py LIBRARY_SO

No symbol that it asks for, weak or not, may have a newer version, and it may need libc and the loader
alone: what moved from libdl or libpthread into libc in 2.34 is looked for by src/unwind/loader.h.
"""
import re
import subprocess
import sys

NEWEST = (2, 17)
LIBRARIES = re.compile(r"^(libc\.so\.6|ld-linux[\w-]*\.so\.\d)$")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def main():
    library = sys.argv[1]
    asked = re.findall(r"\sUND\s+([^\s@]+)@GLIBC_(\S+)", readelf("--dyn-syms", library))
    wrong = [f"{name}@GLIBC_{version}: newer than GLIBC_{NEWEST[0]}.{NEWEST[1]}"
             for name, version in asked
             if not version[0].isdigit() or tuple(map(int, version.split(".")))[:2] > NEWEST]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", library))
    wrong += [f"{name}: a library beside libc" for name in needed if not LIBRARIES.match(name)]
    print(f"{library}: {len(asked)} names of glibc")
    print("\n".join(wrong))
    return bool(wrong) or not asked


sys.exit(main())
