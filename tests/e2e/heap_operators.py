#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that replace some of C++'s operators new and delete (heap_operators.cc): each operator is
called as often as without the tracker, and each block is recorded once, with its right size.
"""
import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

from heap_state import State

BUILD, SRC = os.environ["BUILD"], os.environ["SRC"]
LIBRARY = f"{BUILD}/libcairn-heap.so"
SOURCE = f"{SRC}/tests/e2e/heap_operators.cc"
ALL = (1 << 20) - 1
NEW, ALIGNED_NEW = 1, 1 << 10  # with the operator delete that belongs to each
# Each form alone, beside a replaced operator new, all but one, and arbitrary ones.
ALONE = [1 << bit for bit in range(20) if bit not in (4, 14)]
MASKS = [0, *ALONE, NEW | ALIGNED_NEW, *(NEW | ALIGNED_NEW | one for one in ALONE[4:7]),
         ALL ^ NEW, ALL ^ ALIGNED_NEW, 0x5a5a5, 0xa5a5a]
failed = []


def compile_it(out, *args):
    run = subprocess.run([*args, "-w", "-fsized-deallocation", "-o", out], stderr=subprocess.PIPE, text=True)
    if run.returncode:
        failed.append(f"{' '.join(args)}: {run.stderr}")
    return run.returncode == 0


def sizes_of(mask, aligned, static):
    """What lives, two of each: what replaces the operators that call malloc puts a header before it.
    libstdc++'s aligned forms round a size up before they call aligned_alloc."""
    sizes = [2000 + 100 * i + (16 if mask & NEW else 0) for i in range(4)]
    if not aligned:
        return sizes
    if static and not mask & ALIGNED_NEW:
        return sizes + [-(-(2400 + 100 * i) // 64) * 64 for i in range(4)]
    return sizes + [2400 + 100 * i + (64 if mask & ALIGNED_NEW else 0) for i in range(4)]


def judge(case, mask, aligned, *command, preload=True, static=False):
    """Plain and tracked print the same calls."""
    environment = dict(os.environ, CAIRN_HEAP_DIR=tempfile.mkdtemp(dir="."))
    plain = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if preload:
        environment["LD_PRELOAD"] = LIBRARY
    tracked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if plain.returncode or tracked.returncode or (preload and tracked.stdout != plain.stdout):
        failed.append(f"{case}: status {plain.returncode}, tracked {tracked.returncode}\n"
                      f"    {plain.stdout}    {tracked.stdout}    {tracked.stderr}")
        return
    folder = environment["CAIRN_HEAP_DIR"]
    state = State(f"{folder}/{os.listdir(folder)[0]}")
    found = collections.Counter(size for _, size, _ in state.live())
    wrong = [size for size in sizes_of(mask, aligned, static) if found[size] != 2]
    losses = [name for name, blocks, size in state.losses if blocks or size]
    differ = [s for i, s in enumerate(state.stacks)
              if s[1] - s[3] != sum(stack == i for _, _, stack in state.live())]
    if wrong or losses or differ:
        failed.append(f"{case}: sizes {wrong}, losses {losses}, counts {differ}, of {dict(found)}")


def try_dialect(compiler, std, how):
    name = f"{compiler}{std}{how}"
    aligned = std >= 17
    options = [compiler, f"-std=c++{std}", how]
    if not compile_it(f"{name}.o", *options, "-DMAIN", "-c", SOURCE):
        return
    for mask in NEW, ALL:
        if compile_it(f"{name}.ops.o", *options, f"-DREPLACED={mask}", "-c", SOURCE) and \
                compile_it(f"{name}.{mask}", compiler, f"{name}.o", f"{name}.ops.o"):
            judge(f"{compiler} -std=c++{std} {how}, {mask:#x} replaced", mask, aligned, f"./{name}.{mask}")


def try_mask(mask):
    if compile_it(f"{mask}.o", "g++", "-std=c++17", "-O1", f"-DREPLACED={mask}", "-c", SOURCE) and \
            compile_it(f"mask{mask}", "g++", "main.o", f"{mask}.o"):
        judge(f"{mask:#x} replaced", mask, True, f"./mask{mask}")


def try_library(mask):
    """In a library behind the tracker; beside a static libstdc++; linked with the tracker."""
    library = f"./libops{mask}.so"
    if not compile_it(library, "g++", "-std=c++17", "-O1", "-fPIC", "-shared", f"-DREPLACED={mask}", SOURCE):
        return
    if compile_it(f"library{mask}", "g++", "main.o", library):
        judge(f"{mask:#x} replaced in a library", mask, True, f"./library{mask}")
    tracker = [LIBRARY, f"-Wl,-rpath,{BUILD}"]
    for order in [library, *tracker], [*tracker, library]:
        if compile_it(f"linked{mask}", "g++", "main.o", "-Wl,--no-as-needed", *order):
            judge(f"{mask:#x} replaced in a library, linked", mask, True, f"./linked{mask}", preload=False)
    if compile_it(f"static{mask}.o", "g++", "-std=c++17", "-O1", f"-DREPLACED={mask}", "-c", SOURCE):
        for export in [], ["-rdynamic"]:
            if compile_it(f"static{mask}", "g++", "-static-libstdc++", "-static-libgcc", *export, "main.o",
                          f"static{mask}.o"):
                judge(f"{mask:#x} replaced, static libstdc++ {export}", mask, True, f"./static{mask}",
                      static=True)


def main():
    if not os.path.exists(LIBRARY):
        print("skipped: no libcairn-heap.so: a sanitizer has a malloc of its own")
        sys.exit(77)
    if not shutil.which("g++"):
        print("skipped: g++ is missing")
        sys.exit(77)
    compilers = ["g++", *(["clang++"] if shutil.which("clang++") else [])]
    if len(compilers) == 1:
        print("skipped: clang++: it is not installed")
    compile_it("main.o", "g++", "-std=c++17", "-O2", "-DMAIN", "-c", SOURCE)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(try_dialect, compiler, std, how)
                for compiler in compilers
                for std, how in ((11, "-O2"), (14, "-O0"), (14, "-O2"), (17, "-O0"), (20, "-O2"))]
        jobs += [pool.submit(try_mask, mask) for mask in MASKS]
        jobs += [pool.submit(try_library, mask) for mask in (NEW, ALL, 0x2)]
        for job in jobs:
            job.result()
    if failed:
        print("\n".join(f"FAIL: {text}" for text in failed))
        sys.exit(1)
    print(f"each operator goes to the program's version ({len(jobs)} sets of programs)")


main()
