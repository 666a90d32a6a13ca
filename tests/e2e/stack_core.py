#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stacks of core files: of gcore(1) beside gdb's; of qemu-user, of other CPUs, by their names; and
of processes and cores whose program was deleted, replaced, or has its CFI in a debug file."""
import glob
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys

import stacks

SRC = os.environ["SRC"]
PROGRAMS = SRC + "/tests/e2e/stack_programs.c"
CC = os.environ.get("CC", "cc").split()
CROSS = {  # what runs it, how it is built
    "aarch64-linux-gnu": ("qemu-aarch64", ["-O2", "-static"]),
    "aarch64-linux-gnu dynamic": ("qemu-aarch64", ["-O2"]),
    "arm-linux-gnueabihf": ("qemu-arm", ["-O2", "-marm", "-funwind-tables", "-static"]),
    "arm-linux-gnueabihf thumb": ("qemu-arm", ["-O2", "-mthumb", "-funwind-tables"]),
}
NT_FILE = 0x46494C45
failed = []


def check(name, good, text=""):
    if not good:
        failed.append(f"{name}: {text}")


def build(name, *options):
    subprocess.run([*CC, *options, "-pthread", "-o", name, PROGRAMS], check=True)


class Running:
    """A program that came to rest; killed at the end."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        stacks.wait_asleep(self.process.pid)
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def gcore(pid, name):
    subprocess.run(["gcore", "-o", name, str(pid)], check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return f"{name}.{pid}"


def function_names(stack):
    return [name.split("+")[0] for name in stack.names]


def beside_gdb():
    """Live, in the core, and what gdb makes of the core: all the same."""
    if not shutil.which("gdb") or not shutil.which("gcore"):
        print("skipped: gdb is missing")
        return
    for options in ["-O2"], ["-O2", "-static"], ["-O0"]:
        build("prog", *options)
        for what in "deep", "threads", "handler":
            name = f"gcore {options[-1]} {what}"
            with Running("./prog", what) as pid:
                core = gcore(pid, "core")
                live = stacks.ours(pid)
            mine, theirs = stacks.ours(core), stacks.gdb("./prog", core)
            check(name, mine.keys() == theirs.keys() == live.keys(), "other threads")
            for tid, stack in mine.items():
                check(name, stack.addresses == theirs.get(tid), f"{stack.names} {theirs.get(tid)}")
                check(name, stack.addresses == live[tid].addresses, "live is another")
                check(name, stack.names == live[tid].names, f"{stack.names} {live[tid].names}")
                check(name, stack.end == "outermost", stack.end)
            print(f"{name}: {len(mine)} threads, {sum(len(s.addresses) for s in mine.values())} "
                  "frames as gdb has them")
            os.remove(core)


def crash(name, command, environment=None):
    """The core file that it leaves; None: none."""
    for old in glob.glob("*core*"):
        os.remove(old)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=environment)
    cores = glob.glob("qemu_*.core") or glob.glob("core*")
    if not cores:
        print(f"skipped: {name}: no core file is left (kernel.core_pattern?)")
    return cores[0] if cores else None


def crash_expect(name, stack):
    names = function_names(stack)
    check(name, names[:11] == ["deep"] * 11, names)
    check(name, names[11] == "compare", names)
    check(name, "in_handler" in names and "compare_and_raise" in names and "main" in names, names)
    check(name, stack.how.count("signal") == 1, stack.how)
    check(name, stack.end == "outermost", stack.end)
    check(name, "fp guess" not in stack.how, stack.how)
    print(f"{name}: {len(names)} frames")


def by_the_kernel():
    build("prog", "-O2")
    core = crash("kernel", ["./prog", "crash"])
    if not core:
        return
    told = next(iter(stacks.ours(core).values()))
    crash_expect("kernel", told)
    with open(core, "rb") as f:
        data = f.read()
    note = struct.pack("<I", NT_FILE) + b"CORE\0"
    check("no NT_FILE", data.count(note) == 1, "not one note")
    with open(core, "wb") as f:
        f.write(data.replace(note, b"gone" + note[4:]))
    found = next(iter(stacks.ours(core, "", os.path.abspath("prog")).values()))
    crash_expect("no NT_FILE", found)
    check("no NT_FILE", found.addresses == told.addresses, found.names)
    check("no NT_FILE", found.names == told.names, found.names)


def by_qemu():
    """Core files of aarch64 and arm, which have neither NT_FILE nor the headers, read here."""
    for row, (qemu, options) in CROSS.items():
        compiler = row.split()[0] + "-gcc"
        if not shutil.which(qemu) or not shutil.which(compiler):
            print(f"skipped: {row}: {qemu} or {compiler} is missing")
            continue
        subprocess.run([compiler, *options, "-DNO_THREADS", "-o", "prog", PROGRAMS], check=True)
        sysroot = "/usr/" + row.split()[0]
        core = crash(row, [qemu, "-L", sysroot, "./prog", "crash"])
        if not core or not core.startswith("qemu_"):
            continue
        found = stacks.ours(core, sysroot, os.path.abspath("prog"))
        crash_expect(row, next(iter(found.values())))


def without_the_file():
    """Deleted, and replaced by another build: live from what the kernel still has, in a core from
    what the core has. The frames stay the same."""
    build("prog", "-O2")
    build("other", "-O1")
    for what in "deleted", "replaced":
        shutil.copy("prog", "victim")
        with Running("./victim", "deep") as pid:
            before = stacks.ours(pid)[pid]
            os.remove("victim")
            if what == "replaced":
                shutil.copy("other", "victim")
            after = stacks.ours(pid)[pid]
            check(what, before.addresses == after.addresses, after.names)
            check(what, before.names == after.names, after.names)
            # Everything, also what files have: the default of coredump_filter leaves them out.
            with open(f"/proc/{pid}/coredump_filter", "w", encoding="ascii") as f:
                f.write("0x7f")
            if shutil.which("gcore"):
                core = stacks.ours(gcore(pid, "core"))[pid]
                check(what, before.addresses == core.addresses, f"in the core: {core.names}")
                check(what, core.end == "outermost", core.end)
        print(f"{what}: {len(after.addresses)} frames")


def by_debug_frame():
    """A program without .eh_frame, whose .debug_frame is in its debug file."""
    build("prog", "-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
          "-fomit-frame-pointer", "-no-pie")
    subprocess.run(["objcopy", "--only-keep-debug", "prog", "prog.debug"], check=True)
    subprocess.run(["strip", "-s", "prog"], check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink=prog.debug", "prog"], check=True)
    with Running("./prog", "deep") as pid:
        stack = stacks.ours(pid)[pid]
    names = function_names(stack)
    check("debug_frame", names.count("deep") == 31 and "main" in names, names)
    check("debug_frame", "fp guess" not in stack.how, stack.how)
    check("debug_frame", stack.end == "outermost", stack.end)
    print(f"debug_frame: {len(names)} frames")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if not stacks.may_trace():
        print("skipped: kernel.yama.ptrace_scope forbids to trace")
        sys.exit(77)
    beside_gdb()
    by_the_kernel()
    by_qemu()
    without_the_file()
    by_debug_frame()
    print("\n".join(failed))
    sys.exit(bool(failed))


main()
