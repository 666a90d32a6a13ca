#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paths that a target chose: no device, pipe or file of the kernel is opened for them, and below the
root of a target no link leads out of it."""
import os
import shutil
import subprocess
import time

from checks import check, finish, skip
from hostile import SRC, WORK, Run, Watch, give, setup

SOURCE = """
__attribute__((noinline)) int %(name)s(volatile int *a) { while (*a) ++*a; return *a; }
int main(void) { volatile int a = 1; return %(name)s(&a); }
"""


def build(path, name="turn_for_ever", *flags):
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(SOURCE % {"name": name})
    done = subprocess.run(["gcc", "-g", "-O1", *flags, path + ".c", "-o", path], check=False)
    if done.returncode:
        skip("gcc refused a program")


def address_of_main(path):
    """As symbolize takes it: of a name it never looks anything up."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return "0x" + [line.split()[0] for line in symbols.splitlines() if line.endswith(" T main")][0]


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:  # it has ended
        return ""


def wait_until(holds, what):
    """What holds soon; the script fails where it does not."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    check(False, f"{what}: not within 20 s")
    return False


def link(path, to):
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(to, path)
    give(path)


def add_section(path, name, data):
    with open("section", "wb") as file:
        file.write(data)
    subprocess.run(["objcopy", "--add-section", f"{name}=section", path], check=True)


def untouched(run, what):
    seen = watch.opened()
    check(not seen, f"{what}: opened {sorted(map(str, seen))}", run)
    check(run.in_time, f"{what}: waits", run)


setup("gcc", "nm", "objcopy", "strip", "unshare")
# A device that is watched: /dev/null's number, so that no machine is harmed by the code before.
try:
    os.mknod("device", 0o20666, os.makedev(1, 3))
except PermissionError as error:
    skip(f"no device can be made here: {error}")
os.mkfifo("pipe")
os.chmod("pipe", 0o666)
with open("secret", "wb") as file:
    file.write(b"root:secret\n" * 100)
os.chmod("secret", 0o600)
watch = Watch("device", "pipe", "secret")
LURES = [os.path.abspath(name) for name in ("device", "pipe")] + ["/proc/kmsg", "/dev/zero"]

# The debug link, beside the program and in .debug/ there.
build("eve/linked")
subprocess.run("objcopy --only-keep-debug eve/linked eve/linked.debug && strip eve/linked && "
               "objcopy --add-gnu-debuglink=eve/linked.debug eve/linked", shell=True, check=True)
os.mkdir("eve/.debug")
give("eve/linked", "eve/.debug")
for lure in LURES:
    link("eve/linked.debug", lure)
    link("eve/.debug/linked.debug", lure)
    untouched(Run("symbolize", "--no-cache", "eve/linked", "0x1139"), f"debug link to {lure}")
# What dwz(1) leaves, by an absolute and by a relative path.
build("eve/alt")
add_section("eve/alt", ".gnu_debugaltlink", b"alt.sup\0" + b"A" * 20)
give("eve/alt")
main = address_of_main("eve/alt")
for lure in LURES:
    link("eve/alt.sup", lure)
    untouched(Run("symbolize", "--no-cache", "eve/alt", main), f".gnu_debugaltlink to {lure}")
# Split DWARF, and its package.
build("eve/split", "turn_for_ever", "-gsplit-dwarf")
main = address_of_main("eve/split")
run = Run("symbolize", "--no-cache", "eve/split", main)
check("split.c:" in run.out, "the .dwo is looked up where it is none of a lure", run)
split = [name for name in os.listdir("eve") if name.endswith(".dwo")]
check(split, "gcc made no .dwo")
for name in split:
    for lure in LURES:
        link("eve/" + name, lure)
        link("eve/split.dwp", lure)
        untouched(Run("symbolize", "--no-cache", "eve/split", main), f".dwo and .dwp to {lure}")
# Modules of a text, an archive among them.
for lure in LURES:
    link("eve/module.so", lure)
    link("eve/base.apk", lure)
    with open("maps", "w", encoding="utf-8") as file:
        file.write(f"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 {lure}\n"
                   f"7f0000002000-7f0000003000 r-xp 00000000 00:00 0 {WORK}/eve/module.so\n"
                   f"7f0000004000-7f0000005000 r-xp 00001000 00:00 0 {WORK}/eve/base.apk\n"
                   f"7f0000006000-7f0000007000 r-xp 00000000 00:00 0 {WORK}/eve/base.apk!/lib/x.so\n")
    untouched(Run("resolve", "--no-cache", "--maps", "maps", "-",
                  stdin="0x7f0000000010;0x7f0000002010;0x7f0000004010;0x7f0000006010 1\n"),
              f"modules that are {lure}")
# Sources.
os.mkdir("eve/src")
give("eve/src")
with open("lines.txt", "w", encoding="utf-8") as file:
    file.write("main /a/src/lure.c:1;f /a/src/lure.c:2 5\n")
for lure in [*LURES, os.path.abspath("secret")]:
    link("eve/src/lure.c", lure)
    untouched(Run("flame", "lines.txt", "--source", "eve/src", "--force", "-o", "o.html"),
              f"source that is {lure}")

# A target below a root of its own: its absolute links are its own.
build("turner", "name_of_the_jail", "-static")
os.makedirs("eve/jail/bin")
os.makedirs("eve/jail/x")
subprocess.run("objcopy --only-keep-debug turner eve/jail/x/real.debug && strip turner && "
               "cp eve/jail/x/real.debug turner.debug && objcopy --add-gnu-debuglink=turner.debug "
               "turner && cp turner eve/jail/bin/turner", shell=True, check=True)
shutil.copy("eve/jail/x/real.debug", "secret")  # what would fit, if it were opened
os.symlink("/x/real.debug", "eve/jail/bin/turner.debug")
watch.opened()
JAIL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0:
        sys.exit(77)
call(libc.unshare(0x20000))                                     # CLONE_NEWNS
call(libc.mount(b"none", b"/", None, 0x44000, None))            # MS_REC | MS_PRIVATE
jail = sys.argv[1].encode()
call(libc.mount(jail, jail, None, 0x1000, None))                # MS_BIND
os.mkdir(jail + b"/old")
os.chdir(jail)
call(libc.syscall(155 if os.uname().machine == "x86_64" else 41, b".", b"old"))  # pivot_root
os.chdir("/")
call(libc.umount2(b"/old", 2))                                  # MNT_DETACH
os.execv("/bin/turner", ["/bin/turner"])
"""
jailed = subprocess.Popen(["/usr/bin/python3", "-c", JAIL, os.path.abspath("eve/jail")])
wait_until(lambda: jailed.poll() is not None or program_of(jailed.pid).endswith("/turner"),
           "a program below a root of its own")
if jailed.poll() is not None:
    skip("no mount namespace for a container")
try:
    run = Run("stack", str(jailed.pid))
    check("name_of_the_jail" in run.out, "an absolute link below a target's root", run)
    untouched(run, "an absolute link below a target's root")
    for lure in [*LURES, os.path.abspath("secret"), "../" * 30 + os.path.abspath("secret")[1:],
                 "/proc/1/root" + os.path.abspath("secret")]:
        link("eve/jail/bin/turner.debug", lure)
        run = Run("stack", str(jailed.pid))
        untouched(run, f"a link below a target's root to {lure}")
        check("name_of_the_jail" not in run.out, f"names from {lure}", run)
finally:
    jailed.kill()
    jailed.wait()

# A perf map over which another file is mounted, as /proc/kmsg by a user in a namespace of its own.
jit = subprocess.run(["gcc", "-O1", f"{SRC}/tests/e2e/jit_program.c", "-o", "jit"], check=False)
with open("lure.map", "w", encoding="utf-8") as file:
    file.write("0 ffffffffffffffff name_from_a_mount\n")
held = Watch("lure.map")
inside = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c",
                           "./jit 12 & pid=$!; for i in $(seq 200); do "
                           "[ -s /tmp/perf-$pid.map ] || sleep 0.05; done; "
                           f"mount --bind {WORK}/lure.map /tmp/perf-$pid.map && echo $pid || echo no; "
                           "wait; umount /tmp/perf-$pid.map; rm -f /tmp/perf-$pid.map"],
                          stdout=subprocess.PIPE, text=True)
pid = inside.stdout.readline().strip()
if pid in ("no", "") or jit.returncode:
    print("skipped: a mounted perf map: no mount namespace, or no compiler")
else:
    held.opened()
    run = Run("record", "-p", pid, "-d", "1", "--force", "-o", "jit.txt")
    check(not held.opened(), "a perf map that is mounted over was opened", run)
    check("name_from_a_mount" not in (open("jit.txt", encoding="utf-8").read()
                                      if os.path.exists("jit.txt") else ""), "names of it", run)
    check("mounted over it" in run.err, "why there are no names", run)
inside.wait()
finish("nothing but regular files was opened, and none outside of a target's root")
