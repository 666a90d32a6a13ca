#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn record of programs that do not keep still, or whose stacks lead astray, in the kernel and
out of copies.

Whatever they do, the recording ends and is whole, in bounded memory; the target lives; each stack
that was cut has a reason; and no program stays in the kernel.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from checks import under_asan
from pprof_decode import Profile

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
CC = os.environ.get("CC", "gcc")
PATIENCE_S, SECONDS = 100, 1
MEMORY_KB = 300 << 10
WHATS = ("exec", "fork", "swap", "load", "maps", "apart", "loop")


def build():
    flags = ["-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-fomit-frame-pointer",
             "-fno-optimize-sibling-calls"]
    source = f"{SRC}/tests/e2e/record_restless.c"
    subprocess.run([CC, *flags, "-o", "restless", source, "-ldl"], check=True)
    subprocess.run([CC, *flags, "-DLIBRARY", "-shared", "-fPIC", "-o", "library.so", source],
                   check=True)


def start(what):
    words = ["./restless", what] + (["./library.so"] if what == "load" else [])
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    if process.stdout.readline() != b"up\n":
        sys.exit(f"FAIL: {what} did not start")
    return process


def end(process):
    """With all that it has started, some of which may be starting right now."""
    process.kill()
    process.wait()


def record(method, pid, out):
    """Exit status, what it said, and the most memory that it had, in KiB."""
    with open("log", "w", encoding="utf-8") as log:
        recorder = subprocess.Popen(
            ["timeout", "-s", "KILL", str(PATIENCE_S), CAIRN, "record", f"--method={method}", "-F",
             "999", "-d", str(SECONDS), "-f", "-o", out, "-p", str(pid)], stderr=log, stdout=log)
        _, status, usage = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(status)
    with open("log", encoding="utf-8", errors="replace") as log:
        return recorder.returncode, log.read(), usage.ru_maxrss


def check(what, method, bound_kb):
    target = start(what)
    status, log, most_kb = record(method, target.pid, "raw.pb.gz")
    lives = target.poll() is None
    end(target)
    case = f"{what} by {method}"
    if status != 0 or not lives:
        sys.exit(f"FAIL: {case}: status {status}, the target {'lives' if lives else 'died'}: {log}")
    line = re.search(r"(\d+) samples? in .*?, (\d+) whole .*?, (\d+) cut", log)
    if not line:
        sys.exit(f"FAIL: {case}: no last line: {log}")
    n, whole, cut = map(int, line.groups())
    samples = Profile("raw.pb.gz").samples
    reasons = sum(sample.values[0] for sample in samples if sample.labels.get("cairn.cut"))
    if not n or n != whole + cut or n != sum(sample.values[0] for sample in samples):
        sys.exit(f"FAIL: {case}: samples do not add up: {log}")
    if reasons != cut:
        sys.exit(f"FAIL: {case}: {cut} stacks were cut, {reasons} have a reason: {log}")
    if bound_kb and most_kb > bound_kb:
        sys.exit(f"FAIL: {case}: {most_kb} KiB of memory, {bound_kb} were allowed")
    print(f"{case}: {n} samples, {whole} whole, {cut} cut, {most_kb} KiB")
    return log, n, whole


def programs(tool):
    """Numbers of the programs of ours that are in the kernel."""
    done = subprocess.run([tool, "prog", "show"], capture_output=True, text=True, check=False)
    return set(re.findall(r"^(\d+): .*name cairn_", done.stdout, re.MULTILINE))


def held():
    """Numbers of the programs that a process holds: those of others who record meanwhile."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(path) == "anon_inode:bpf-prog":
                with open(path.replace("/fd/", "/fdinfo/"), encoding="ascii") as file:
                    found.update(re.findall(r"^prog_id:\s*(\d+)", file.read(), re.MULTILINE))
        except OSError:
            continue
    return found


def check_kernel():
    tool = shutil.which("bpftool") or shutil.which("/usr/sbin/bpftool")
    until = time.monotonic() + PATIENCE_S
    while left := programs(tool) - held() if tool else set():
        if time.monotonic() > until:
            sys.exit(f"FAIL: left in the kernel: {left}")
        time.sleep(0.1)


def main():
    build()
    target = start("swap")
    methods = []
    for method in ("bpf", "dump"):
        status, log, _ = record(method, target.pid, "raw.pb.gz")
        if status == 0:
            methods.append(method)
        elif not re.search("needs|not in this build|cannot be walked|cannot sample|on this CPU", log):
            sys.exit(f"FAIL: the first recording by {method}: {log}")
        else:
            print(f"skipped by {method}: {log.strip()}")
    end(target)
    if not methods:
        sys.exit(77)
    bound_kb = 0 if under_asan() else MEMORY_KB
    for what in WHATS:
        for method in methods:
            log, n, whole = check(what, method, bound_kb)
            if what == "loop" and whole > n // 2:
                sys.exit(f"FAIL: stacks that lead astray are whole: {log}")
    check_kernel()


main()
