#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that each header can be included alone: check_headers.py SOURCE_ROOT.

A public header must be C99 and C++17 to both compilers without a warning, and needs no macro from
its user; a header of ours is gnu17.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wundef", "-fsyntax-only"]
PUBLIC = [
    ["gcc", "-x", "c", "-std=c99", "-Wstrict-prototypes"],
    ["clang", "-x", "c", "-std=c99", "-Wstrict-prototypes"],
    ["g++", "-x", "c++", "-std=c++17", "-Wold-style-cast"],
    ["clang++", "-x", "c++", "-std=c++17", "-Wold-style-cast"],
]
HIDDEN = [["gcc", "-x", "c", "-std=gnu17", "-D_GNU_SOURCE"]]


def compile_alone(job):
    compiler, header, folders = job
    pedantic = STRICT if compiler not in HIDDEN else [o for o in STRICT if "pedantic" not in o]
    # Twice: the guard holds. The typedef: ISO C forbids an empty file.
    text = f"#include {header}\n#include {header}\ntypedef int alone;\n"
    done = subprocess.run([*compiler, *pedantic, *folders, "-"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else f"{' '.join(compiler)}: {header}\n{done.stdout}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    jobs = []
    for path in sorted((root / "include").rglob("*.h")):
        jobs += [(compiler, f"<{path.relative_to(root / 'include')}>", [f"-I{root}/include"]) for compiler in PUBLIC
                 if shutil.which(compiler[0])]
    made = os.environ.get("BUILD", "")  # headers that meson writes
    folders = [f"-I{root}/include", f"-I{root}/src", f"-I{root}", f"-I{made}/src"]
    for path in sorted([*(root / "src").rglob("*.h"), *(root / "cli").rglob("*.h")]):
        if path.name.endswith(".bpf.h"):  # parts of a program in the kernel
            continue
        base = root / "src" if path.is_relative_to(root / "src") else root
        jobs += [(compiler, f'"{path.relative_to(base)}"', folders) for compiler in HIDDEN]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        wrong = [text for text in pool.map(compile_alone, jobs) if text]
    print("\n".join(wrong))
    print(f"{len(jobs)} compilations")
    return bool(wrong) or not jobs


sys.exit(main())
