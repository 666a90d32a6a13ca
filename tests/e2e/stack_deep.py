#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of 65,500 frames: all of them, folded, by every method, and within bounds."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
DEPTH, MOST, PATIENCE_S = 65500, 1 << 20, 60
checks, failures = 0, 0


def check(right, what):
    global checks, failures
    checks += 1
    if not right:
        failures += 1
        print("FAIL:", what)


def stack(*words):
    done = subprocess.run([CAIRN, "stack", *words], text=True, capture_output=True, check=False,
                          timeout=PATIENCE_S)
    check(done.returncode == 0, f"stack {words}: {done.returncode}: {done.stderr}")
    return done.stdout


def unlimited():
    resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def start(depth, *words):
    target = subprocess.Popen(["./deep", str(depth), *words], stdout=subprocess.PIPE, text=True,
                              preexec_fn=unlimited)
    if words:
        time.sleep(1)
    elif target.stdout.readline() != "up\n":
        sys.exit("FAIL: the target did not start")
    return target


def check_folded(text, what):
    lines = text.splitlines()
    run = [re.fullmatch(r"  \.\.\. ([0-9,]+) frames: (f > g|g > f), ([0-9,]+) times", line)
           for line in lines]
    run = [int(found[1].replace(",", "")) for found in run if found]
    check(run and run[0] > DEPTH - 16, f"{what}: no fold of the recursion: {lines}")
    main = [line for line in lines if re.match(r"  #655\d\d .*main", line)]
    check(main, f"{what}: main is not there: {lines[-4:]}")
    check(len(lines) < 30, f"{what}: {len(lines)} lines")
    check("cut" not in text, f"{what}: it is cut")


def check_json(text, what):
    thread = json.loads(text)["processes"][0]["threads"][0]
    n = 0
    for frame in thread["frames"]:
        n += frame["repeat"] * frame["times"] if "repeat" in frame else not frame["kernel"]
    check(n > DEPTH, f"{what}: {n} frames")
    check(len(thread["frames"]) < 40 and thread["whole"], f"{what}: not folded, or not whole")


def try_live():
    target = start(DEPTH)
    pid = str(target.pid)
    check_folded(stack(pid), "sleeping")
    for method in ("ptrace", "memory"):
        check_folded(stack("--method", method, pid), method)
    check_folded(stack("--merge", pid), "--merge")
    check_folded(re.sub("0x[0-9a-f]+ *", "", re.sub(r"  \[\w+\]", "", stack("--why", pid))
                        .replace("  whole: outermost\n", "")), "--why")
    check_json(stack("--json", pid), "--json")
    text = stack("--depth", "5", "--user-only", pid)
    check(text.count("  #") == 5 and "frame limit" in text, f"--depth 5: {text}")
    text = stack("--no-fold", pid)
    check(text.count("\n  #") > DEPTH and " times" not in text, "--no-fold does not print each")
    stack("-o", "deep.txt", pid)
    with open("deep.txt", encoding="utf-8") as file:
        check(file.read().count(";") > DEPTH, "the profile is not as deep")
    if shutil.which("gcore"):
        subprocess.run(["gcore", "-o", "core", pid], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        check_folded(stack(f"./core.{pid}"), "core")
    target.kill()
    target = start(DEPTH, "spin")
    check_folded(stack(str(target.pid)), "running")
    target.kill()


def try_endless():
    """Beyond a million frames the stack is cut, and says so; memory stays bounded."""
    target = start(2 * MOST)
    text = stack("--user-only", str(target.pid))
    check("frame limit" in text and " times" in text, f"two million frames: {text[-300:]}")
    for name in "most.txt", "most.pb.gz":
        stack("-o", name, str(target.pid))
        done = subprocess.run([CAIRN, "convert", "-f", "-o", "back.txt", name], text=True,
                              capture_output=True, check=False, timeout=PATIENCE_S)
        check(done.returncode == 0, f"convert {name}: {done.stderr}")
        with open("back.txt", encoding="utf-8") as file:
            check(file.read().count(";") >= MOST, f"{name}: as deep as it was written")
    target.kill()


def main():
    subprocess.run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-o", "deep",
                    os.path.join(SRC, "tests/e2e/stack_deep.c")], check=True)
    try_live()
    try_endless()
    print(f"{checks} checks, {failures} failed")
    sys.exit(failures > 0)


main()
