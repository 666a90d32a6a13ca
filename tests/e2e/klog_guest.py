#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn resolve on serial logs of guests that ran contrib/kernel/cairn_stacks.ko: a kprobe, a tracepoint, interrupts,
four threads, a removed library, C++ inlines, signed addresses. Names as LLVM has them (tests/guest/stack_dump.py)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

CAIRN = os.environ["CAIRN"]
DATA = pathlib.Path(os.environ["SRC"]) / "tests/data/klog/numbered.tar.xz"


def bare(name):
    """Without namespace, template and arguments, as names.txt has it."""
    if "operator()" in name:
        return "operator()"
    shorter = re.sub(r"<[^<>]*>", "", name)
    while shorter != name:
        name, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    return name.split("(")[0].split("::")[-1]


def fail(text):
    print("klog_guest: " + text)
    sys.exit(1)


def rows_of(folder, *more):
    run = subprocess.run([CAIRN, "resolve", folder / "serial.log", "--symbols", folder / "root", "--json", *more],
                         text=True, capture_output=True)
    if run.returncode or "39 dumps, 39 shown" not in run.stderr or "mixed" in run.stderr:
        fail(f"{folder}: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def check(folder, entry):
    expected = {int(line.split()[0]): line.split()[1:] for line in (folder / "names.txt").read_text().splitlines()}
    rows = rows_of(folder)
    for row in rows:
        user = [frame for frame in row["stack"] if frame["part"] == "user"]
        names = [bare(line["function"]) for frame in user for line in frame["frames"]]
        if [row["trigger"], *names] != expected[row["number"]]:
            fail(f"{folder}, dump {row['number']}: {row['trigger']} {names}, expected {expected[row['number']]}")
        kernel = [frame for frame in row["stack"] if frame["part"] == "kernel"]
        if not kernel[-1]["text"].startswith((entry, "asm_int80_emulation", "ret_from_fork")) or row["headless"] or row["mixed"]:
            fail(f"{folder}, dump {row['number']}: {kernel}")
        probed = row["trigger"] in ("do_sys_openat2", "ksys_write")
        if kernel[0]["text"].startswith(row["trigger"] + "+") != probed or ("exact" in kernel[0]["marks"]) != probed:
            fail(f"{folder}, dump {row['number']}: {kernel[0]}")
    by_tag = {row["trigger"]: row for row in rows}
    if by_tag["worker"]["no_user"] != "a kernel thread" or "no memory" not in by_tag["sched_process_exit"]["no_user"]:
        fail(f"{folder}: {by_tag['worker']['no_user']}, {by_tag['sched_process_exit']['no_user']}")
    if sum("same_as" in row for row in rows) < 16:
        fail(f"{folder}: equal stacks are not read")
    return sum(len(names) - 1 for names in expected.values())


with tarfile.open(DATA) as archive:
    archive.extractall()
count = sum(check(pathlib.Path("numbered") / cpu, entry)
            for cpu, entry in (("amd64", "entry_SYSCALL_64"), ("arm64", "el0t_64_sync+")))
print(f"{count} names as LLVM has them")
