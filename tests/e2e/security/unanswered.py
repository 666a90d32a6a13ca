#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory and files of a target that never answer a read: every command ends, and says so.

A target that means harm lays a frame into a page under userfaultfd(2), or into memory of a FUSE
file. A read of such a page waits until its owner answers, with FUSE even SIGKILL does not end it.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from fuse_server import FuseServer, mount_apart, why_not

CAIRN, SRC, WORK = os.environ["CAIRN"], os.environ["SRC"], os.environ["WORK"]
# doctor, which loads every program into the kernel, takes 20 s under ASan.
PATIENCE_S = 60 if "ASan" in os.environ.get("CAIRN_BUILD", "") else 20
METHODS = ["memory", "ptrace", "iterator"]
WAYS = [*METHODS, "", "--consistent", "--no-stop"]
failures, checks, skipped = 0, 0, []


def check(right, what):
    global failures, checks
    checks += 1
    if not right:
        failures += 1
        print("FAIL:", what)


def run(*words):
    """Ended, in time, and its output. A command that cannot be killed is left alone."""
    with open("out", "w+", encoding="utf-8") as out, open("err", "w+", encoding="utf-8") as err:
        process = subprocess.Popen([CAIRN, *words], stdout=out, stderr=err)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return None, "", ""
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(), err.read()


def start(*words):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout.readline() != "up\n":
        process.kill()
        return None, process.stderr.read().strip()
    return process, ""


def thread_of(text, name):
    for process in json.loads(text)["processes"]:
        for thread in process["threads"]:
            if thread["name"] == name:
                return thread
    return None


def functions(thread):
    return [line.get("function", "") for frame in thread["frames"] for line in frame["lines"]]


def look(pid, what, word, options):
    status, text, err = run("stack", "--json", *options, str(pid))
    if "iterator" in options and status not in (0, None):
        skipped.append(f"{what}: {err.splitlines()[0] if err else 'no iterator'}")
        return
    check(status == 0, f"{what}: ended with {status}, not within {PATIENCE_S} s with 0: {err}")
    if status != 0:
        return
    healthy, trapped = thread_of(text, "healthy"), thread_of(text, "trapped")
    check("healthy_inner" in functions(healthy) and healthy["end"] == "outermost",
          f"{what}: the other thread is not whole: {functions(healthy)}, {healthy['end']}")
    check(trapped["end"] == "stack not readable", f"{what}: the stack ends with {trapped['end']}")
    check(word in trapped.get("end_detail", ""), f"{what}: the detail is {trapped.get('end_detail')!r}")
    status, text, err = run("stack", *options, str(pid))
    check(status == 0 and word in text, f"{what}: the text does not name {word}: {text}")


def each_way(words, what, word):
    """A target for each: one that was stopped may wait for its own page from then on."""
    for way in WAYS:
        target, why = start("./unanswered", *words)
        if not target:
            skipped.append(f"{what}: {why}")
            return
        options = ["--method", way] if way in METHODS else way.split()
        look(target.pid, f"{what}, {' '.join(options)}", word, options)
        target.kill()
        target.wait()


def mount(contents):
    os.makedirs("mnt", exist_ok=True)
    return FuseServer(os.path.join(WORK, "mnt"), contents)


def try_fuse_memory(part):
    server = mount(bytes(1 << 20))
    server.silence_reads()
    each_way(["fuse", part, "mnt/file"], f"FUSE, {part} frames", "FUSE")
    server.close()


def try_fuse_program():
    """The program's own file lies there, and its file system falls silent."""
    with open("unanswered", "rb") as file:
        server = mount(file.read())
    target = subprocess.Popen([os.path.join(WORK, "mnt/file"), "uffd", "outer"],
                              stdout=subprocess.PIPE, text=True)
    up = target.stdout.readline() == "up\n"
    if not up:
        skipped.append("a program of a FUSE file: no userfaultfd")
    else:
        status, text, err = run("stack", "--json", str(target.pid))
        check(status == 0 and "healthy_inner" in functions(thread_of(text, "healthy")),
              f"names of a FUSE file that answers: {status}: {err}{text}")
        server.stop_answering()
        began = time.monotonic()
        status, text, err = run("stack", "--no-cache", "--json", str(target.pid))
        check(status == 0, f"stack of a silent FUSE program: {status}: {err}")
        print(f"stack of a silent FUSE program: {time.monotonic() - began:.1f} s")
        status, text, err = run("record", "-d", "0.3", "-o", "silent.pb.gz", "-p", str(target.pid))
        check(status == 0, f"record of a silent FUSE program: {status}: {err}")
    target.kill()
    server.close()


def try_perf_map():
    """The target mounts a file system that falls silent over its /tmp, where its perf map was."""
    server = mount(b"")
    # mount_apart() has seen to who shares mounts; in a chroot unshare(1) cannot change it.
    inside = subprocess.Popen(["unshare", "-m", "--propagation", "unchanged", "sh", "-c",
                               "./jit 120 & pid=$!; for i in $(seq 200); do "
                               "[ -s /tmp/perf-$pid.map ] || sleep 0.05; done; "
                               "mount --bind mnt /tmp && echo $pid || echo no; wait"],
                              stdout=subprocess.PIPE, text=True)
    pid = inside.stdout.readline().strip()
    server.stop_answering()
    if pid in ("no", ""):
        skipped.append("a perf map on FUSE: nothing can be mounted over /tmp")
    else:
        status, text, err = run("stack", pid)
        check(status == 0 and "main" in text, f"stack with a silent perf map: {status}: {err}{text}")
        check("did not answer in time" in err, f"stack does not say why names are missing: {err}")
        status, _, err = run("record", "-d", "0.3", "-o", "jit.pb.gz", "-p", pid)
        check(status == 0, f"record with a silent perf map: {status}: {err}")
        status, _, err = run("doctor", pid)
        check(status is not None, "doctor with a silent perf map does not end")
        os.kill(int(pid), signal.SIGKILL)
        os.unlink(f"/tmp/perf-{pid}.map")
    inside.wait()
    server.close()


def main():
    subprocess.run(["gcc", "-O1", "-o", "jit", os.path.join(SRC, "tests/e2e/jit_program.c")],
                   check=True)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", "unanswered",
                    os.path.join(SRC, "tests/e2e/security/unanswered.c")], check=True)
    for part in ("outer", "inner"):
        each_way(["uffd", part], f"userfaultfd, {part} frames", "userfaultfd")
    why = why_not()
    if why:
        skipped.append(f"FUSE: {why}")
    else:
        mount_apart()
        for part in ("outer", "inner"):
            try_fuse_memory(part)
        try_fuse_program()
        try_perf_map()
    for line in skipped:
        print("skipped:", line)
    print(f"{checks} checks, {failures} failed")
    if failures:
        sys.exit(1)
    sys.exit(77 if not checks else 0)


main()
