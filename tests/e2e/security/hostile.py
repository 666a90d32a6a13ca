# SPDX-License-Identifier: MIT
"""What the Python scripts of tests/e2e/security share."""
import ctypes
import os
import resource
import select
import shutil
import struct
import subprocess
import time

from checks import skip, under_asan

CAIRN, SRC, WORK = os.environ["CAIRN"], os.environ["SRC"], os.environ["WORK"]
EVE = 65534


def setup(*tools):
    """Root, tools, and a folder of the other user's."""
    if os.getuid() != 0:
        skip("not root, so there is no other user to be harmed by")
    for tool in ("setpriv", *tools):
        if not shutil.which(tool):
            skip(f"{tool} is missing")
    os.chmod(WORK, 0o755)
    os.mkdir("eve", 0o755)
    os.chown("eve", EVE, EVE)


def give(*paths):
    for path in paths:
        os.chown(path, EVE, EVE, follow_symlinks=False)


def as_eve(*words, **options):
    return subprocess.Popen(["setpriv", f"--reuid={EVE}", f"--regid={EVE}", "--clear-groups", "--",
                             *words], **options)


class Run:
    """A command: status, output, messages, seconds, and the most memory that it had, in MB."""

    def __init__(self, *words, stdin="", patience_s=60):
        start = time.monotonic()
        with open("stdin", "w", encoding="utf-8") as file:
            file.write(stdin)
        with open("stdin", encoding="utf-8") as given, open("out", "w+b") as out, \
                open("err", "w+b") as err:
            pid = os.posix_spawn(CAIRN, [CAIRN, *words], os.environ, file_actions=[
                (os.POSIX_SPAWN_DUP2, given.fileno(), 0), (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
            done = 0
            while not done and time.monotonic() < start + patience_s:
                done, status, usage = os.wait4(pid, os.WNOHANG)
                if not done:
                    time.sleep(0.02)
            self.in_time = bool(done)
            if not done:
                os.kill(pid, 9)
                _, status, usage = os.wait4(pid, 0)
            self.seconds = time.monotonic() - start
            self.cpu = usage.ru_utime + usage.ru_stime
            self.status = os.waitstatus_to_exitcode(status)
            self.mb = usage.ru_maxrss // 1024
            out.seek(0)
            err.seek(0)
            self.out = out.read().decode(errors="replace")
            self.err = err.read().decode(errors="replace")

    def __str__(self):
        return (f"[status {self.status}, {self.seconds:.1f} s, {self.cpu:.1f} s of CPU, {self.mb} MB]"
                f"\n{self.out[-600:]}\n{self.err[-1200:]}")


class Watch:
    """Who opened these files? By inotify(7): an O_PATH descriptor opens nothing."""
    OPEN, ACCESS = 0x20, 0x1

    def __init__(self, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.paths = {}
        for path in paths:
            number = self.libc.inotify_add_watch(self.fd, path.encode(), self.OPEN | self.ACCESS)
            if number < 0:
                skip(f"cannot watch {path}")
            self.paths[number] = path

    def opened(self):
        names = set()
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 65536)
            while data:
                number, _, _, size = struct.unpack_from("iIII", data)
                data = data[16 + size:]
                names.add(self.paths.get(number))
        return names


def limit_memory(mb):
    """For commands that are started from here on: the machine is not to suffer."""
    if not under_asan():
        resource.setrlimit(resource.RLIMIT_AS, (mb << 20, resource.RLIM_INFINITY))
