#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn stack at processes that change while it looks, and killed while it looks.

Whatever happens, it ends, its output is whole, and no thread is left stopped or traced.
"""
import glob
import json
import os
import random
import subprocess
import sys
import time

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
PATIENCE_S, KILLS, LOOKS = 20, 100, 30


def start(what):
    process = subprocess.Popen(["./restless", what], stdout=subprocess.PIPE)
    if process.stdout.readline() != b"up\n":
        sys.exit(f"FAIL: {what} did not start")
    return process


def left_behind(pid):
    """Threads of the process that stand still by force."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        if lines["TracerPid"].strip() != "0" or lines["State"].split()[0] in "Tt":
            found.append(path)
    return found


def check_free(pid, when):
    until = time.monotonic() + PATIENCE_S
    while left_behind(pid):
        if time.monotonic() > until:
            sys.exit(f"FAIL: {when}: stopped or traced: {left_behind(pid)}")
        time.sleep(0.01)


def look(pid, options):
    done = subprocess.run([CAIRN, "stack", "--no-cache", "--json", *options, str(pid)], text=True,
                          capture_output=True, check=False, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"FAIL: stack {options}: {done.returncode}: {done.stderr}")
    if done.returncode == 0:
        json.loads(done.stdout)
    return done


def restless(what, options):
    target = start(what)
    seen = 0
    for _ in range(3):
        seen += look(target.pid, options).returncode == 0
    if target.poll() is not None:
        sys.exit(f"FAIL: {what} ended under {options}: {target.returncode}")
    check_free(target.pid, f"{what} {options}")
    target.kill()
    target.wait()
    if not seen:
        sys.exit(f"FAIL: {what}: nothing was ever shown with {options}")


def killed():
    """At random moments of many looks, most of which hold somebody."""
    target = start("sleep")
    chance = random.Random(6)
    for i in range(KILLS):
        way = ["--consistent"] if i % 3 == 0 else ["--method=ptrace"]
        looks = subprocess.Popen([CAIRN, "stack", "--no-cache", "--user-only", "-n", "100000",
                                  "-i", "1", *way, str(target.pid)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.06))
        looks.kill()
        looks.wait()
        check_free(target.pid, f"killed {way}")
    target.kill()
    target.wait()


def main():
    subprocess.run([os.environ.get("CC", "gcc"), "-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-o",
                    "restless", f"{SRC}/tests/e2e/stack_restless.c"], check=True)
    target = start("sleep")
    first = look(target.pid, ["--method=ptrace"])
    target.kill()
    target.wait()
    if first.returncode != 0:
        print(f"skipped: this process may not look into others: {first.stderr.strip()}")
        sys.exit(77)
    many = ["-n", str(LOOKS), "-i", "1"]
    for what in ("exec", "fork", "threads", "remap"):
        for options in ([], ["--no-stop"], ["--method=ptrace"], ["--consistent"]):
            restless(what, [*many, *options])
    killed()
    print(f"{KILLS} kills, and {LOOKS} looks at each of four programs in four ways, left nobody "
          "stopped")


main()
