#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Far ends that lie, and near ends that do.

Run by --rsh this script is a far end that behaves badly; otherwise it runs cairn against each of
those, and speaks itself to `cairn remote serve`.
"""
import fcntl
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time

MAGIC = b"\0cairn far end 1\n"
HELLO, RUN, CANCEL, BEAT, OUT, ERR, ASK, ANSWER, EXIT = range(1, 10)
GREETING = b"protocol 1\ncairn 0.1.0\nmachine x86_64\nhost liar\nuid 0\nabilities 0\nfeatures names\n"


def frame(kind, payload=b""):
    return bytes([kind]) + struct.pack("<I", len(payload)) + payload


def far_end(case):
    """Speaks as a far end, once the script has come."""
    os.read(0, 65536)

    def say(*parts):
        for part in parts:
            while part:
                part = part[os.write(1, part):]

    def listen():
        """Until the near end goes, or for as long as a test may take."""
        end = time.time() + 20
        while time.time() < end and os.read(0, 65536):
            pass

    hello = MAGIC + frame(HELLO, GREETING)
    if case == "bytes":  # one at a time, with a banner before and a normal end
        for byte in b"motd\n" + hello + frame(OUT, b"text\n") + frame(EXIT, b"\0"):
            say(bytes([byte]))
        listen()
    elif case == "huge":
        say(hello, b"\5\xff\xff\xff\xff" + bytes(1000))
        listen()
    elif case == "kind":
        say(hello, frame(77))
        listen()
    elif case == "ours":
        say(hello, frame(RUN, b"\0\0stack\0"))
        listen()
    elif case == "newer":
        say(b"\0cairn far end 9\n", frame(HELLO, GREETING))
        listen()
    elif case == "protocol":
        say(MAGIC, frame(HELLO, b"protocol 9\ncairn 3.0\n"))
        listen()
    elif case == "empty":
        say(MAGIC, frame(HELLO))
        listen()
    elif case == "twice":
        say(hello, frame(HELLO, GREETING))
        listen()
    elif case == "early":
        say(MAGIC, frame(OUT, b"no hello\n"))
        listen()
    elif case == "dies":
        say(hello[:-9])
    elif case == "killed":
        say(hello, frame(ERR, b"cairn: half a li"))
        os.kill(os.getpid(), signal.SIGKILL)
    elif case == "exit":
        say(hello, frame(EXIT, b"\0\0\0"))
        listen()
    elif case == "floods":
        while True:
            say(b"x" * 65536)
    elif case == "steers":
        say(MAGIC + frame(HELLO, GREETING), frame(ERR, b"\33[2Jcairn: \33]0;title\7gone\n"),
            frame(EXIT, b"\4"))
        listen()
    elif case == "asks":  # nonsense, twice; no names come, and the session goes on
        say(hello)
        os.read(0, 65536)
        for ask in (b"\xff" * 100, b"\1/bin/sh\0zz\0\0\0\0\1\0\1"):
            say(frame(ASK, ask))
            answer = b""
            while frame(ANSWER) not in answer:
                answer += os.read(0, 65536)
        say(frame(OUT, b"no names\n"), frame(EXIT, b"\0"))
        listen()
    elif case == "asks-on":  # and reads no answer
        say(hello)
        module = b"/x\0" + b"0123456789abcdef\0" + b"\1\2\0"
        fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(40):
            say(frame(ASK, b"\1" + module + b"\x80\4" + b"\0\1" * 512))
            time.sleep(0.1)
    elif case == "talks":  # more than anybody reads at once
        say(hello)
        line = b"x" * 65000 + b"\n"
        for _ in range(1600):
            say(frame(OUT, line))
        say(frame(EXIT, b"\0"))
        listen()
    elif case == "asks-twice":
        say(hello + frame(ASK, b"\0\0") + frame(ASK, b"\0\0"))
        listen()
    elif case == "profile":
        say(hello, frame(OUT, b"this is no profile"), frame(EXIT, b"\0"))
        listen()
    elif case == "absent-lies":
        say(b"\0cairn far end 0\n" + b"Linux " + b"x" * 5000)
        listen()


FAILS = {  # a case: what is said of it
    "huge": "a frame of 4294967295 bytes, at most 1048576 are allowed",
    "kind": "a frame of kind 77, expected 1 to 9",
    "ours": "it sends a frame of kind 2, which is ours",
    "newer": "it speaks version 9 of the protocol, not 1",
    "protocol": "cairn 3.0 there speaks version 9 of the protocol, not 1",
    "empty": "the hello lacks its protocol or version",
    "twice": "it sends a frame of kind 1 after its hello",
    "early": "it sends a frame of kind 5 before its hello",
    "dies": "the connection ended before cairn answered",
    "killed": "the connection was ended by signal 9",
    "exit": "its exit status has 3 bytes, expected 1",
    "floods": "of other text and no hello, at most 65536 are expected",
    "asks-on": "it asks for names twice at once",
    "asks-twice": "it asks for names twice at once",
    "absent-lies": "bytes without the end of a line",
}

wrong, n_checks = [], 0


def check(good, what):
    global n_checks
    n_checks += 1
    if not good:
        wrong.append(what)


def near(case, *words):
    """cairn against one of these far ends: its exit status, stdout and stderr."""
    started = time.time()
    shell = f"env CAIRN_BAD={case} {sys.executable} {os.path.abspath(__file__)}"
    done = subprocess.run([os.environ["CAIRN"], "stack", "--rsh", shell,
                           *words, "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    check(time.time() - started < 30, f"{case}: took {time.time() - started:.1f} s")
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def check_slow_reader():
    """A reader that does nothing for longer than a far end may be silent, then reads all: nothing is
    lost, and memory does not grow with what was sent."""
    def peak_kb(pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])

    shell = f"env CAIRN_BAD=talks {sys.executable} {os.path.abspath(__file__)}"
    with subprocess.Popen([os.environ["CAIRN"], "stack", "--rsh", shell, "1"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as slow:
        time.sleep(13)
        size, before, after = 0, 0, 0
        if slow.poll() is None:
            before = peak_kb(slow.pid)
            size = len(slow.stdout.read(90 << 20))
        if size == 90 << 20:
            after = peak_kb(slow.pid)
        size += len(slow.stdout.read())
        err = slow.stderr.read()
    check(slow.returncode == 0 and size == 1600 * 65001, f"talks: {slow.returncode} {size} {err}")
    check(after - before < 16000, f"talks: {before} kB of memory, then {after} kB")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([os.environ["CAIRN"], "stack", "--rsh", shell, "1"], stdout=full,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    check(done.returncode == 1 and b"stdout: cannot write: No space left" in done.stderr,
          f"full: {done.returncode} {done.stderr}")


def check_far_ends():
    for case, text in FAILS.items():
        status, out, err = near(case)
        check(status == 1 and text in err, f"{case}: status {status}: {err}")
        check(not out, f"{case}: printed {out!r}")
    status, out, err = near("bytes")
    check((status, out) == (0, "text\n"), f"bytes: {status} {out!r} {err}")
    status, out, err = near("asks")
    check((status, out) == (0, "no names\n"), f"asks: {status} {out!r} {err}")
    check(err.count("names: byte ") == 2, f"asks: {err}")
    status, out, err = near("steers")
    check(status == 4 and "\33" not in err and "\7" not in err, f"steers: {status} {err!r}")
    status, out, err = near("profile", "-o", "x.txt")
    check(status == 1 and "pprof" in err, f"profile: {status} {err}")
    check(not pathlib.Path("x.txt").exists(), "profile: it was written")


class Far:
    """`cairn remote serve`, spoken to by hand."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["CAIRN"], "remote", "serve"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.bytes, self.has_begun = b"", False
        self.lock, self.is_over = threading.Lock(), threading.Event()
        threading.Thread(target=self.beat, daemon=True).start()

    def beat(self):
        """A busy machine may take longer for a command than a near end may be silent."""
        while not self.is_over.wait(1) and self.say(frame(BEAT)):
            pass

    def say(self, *parts):
        try:
            with self.lock:
                for part in parts:
                    self.process.stdin.write(part)
        except (BrokenPipeError, ValueError):  # it went, or end() was called
            return False
        return True

    def frames(self, until=EXIT):
        """Those that come up to one of this kind, or the end; beats are left out."""
        found = []
        while not self.has_begun:
            more = self.process.stdout.read(65536)
            self.bytes += more
            self.has_begun = MAGIC in self.bytes or not more
            self.bytes = self.bytes.split(MAGIC, 1)[-1] if self.has_begun else self.bytes
        while True:
            while len(self.bytes) >= 5:
                kind, size = struct.unpack("<BI", self.bytes[:5])
                if len(self.bytes) < 5 + size:
                    break
                payload, self.bytes = self.bytes[5:5 + size], self.bytes[5 + size:]
                if kind != BEAT:
                    found.append((kind, payload))
                if kind == until:
                    return found
            more = self.process.stdout.read(65536)
            if not more:
                return found
            self.bytes += more

    def end(self, what):
        """It is over soon."""
        self.is_over.set()
        with self.lock:
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            check(False, f"{what}: it runs on")
            self.process.kill()
        self.process.stdout.close()


def run(*words, wishes=0):
    return frame(RUN, bytes([wishes, 0]) + b"".join(word.encode() + b"\0" for word in words))


def check_near_ends():
    far = Far()
    check(far.frames(HELLO)[0][0] == HELLO, "no hello")
    far.say(run("version"), frame(BEAT))
    frames = far.frames()
    check(frames and frames[-1] == (EXIT, b"\0"), f"version: {frames}")
    check(b"cairn" in b"".join(p for k, p in frames if k == OUT), "version: no text")
    far.end("version")
    refusals = {
        b"\2\xff\xff\xff\xff": b"a frame of 4294967295 bytes",
        frame(200): b"a frame of kind 200",
        frame(OUT, b"x"): b"which only we send",
        frame(RUN): b"a command line whose head makes no sense",
        frame(RUN, b"\0\0stack"): b"without the end of its last word",
        run("remote", "serve"): b"no command that can be run at the far end",
        run("version") + run("version"): b"a second command line",
        frame(ANSWER, b"x" * 100000): b"names that were not asked for",
    }
    for said, text in refusals.items():
        far = Far()
        far.say(said)
        frames = far.frames()
        check(text in b"".join(p for k, p in frames if k == ERR), f"{said[:20]}: {frames}")
        far.end(str(said[:20]))
    far = Far()
    far.say(run("record", "-o", "-", "--", "grep", "SigIgn", "/proc/self/status"))
    text = b"".join(p for k, p in far.frames() if k == OUT)
    ignored = [line.split()[1] for line in text.split(b"\n") if line.startswith(b"SigIgn:")]
    check(ignored and not int(ignored[0], 16) & 1 << signal.SIGPIPE - 1, f"signals: {ignored}")
    far.end("signals")
    far = Far()  # nested: a far end opens no further shell
    far.say(run("stack", "--rsh", "touch nested; sh", "1"))
    frames = far.frames()
    check(frames[-1][0] == EXIT and frames[-1][1] != b"\0", f"nested: {frames}")
    check(not os.path.exists("nested"), "nested: a shell was opened")
    far.end("nested")


def check_ends():
    """What runs ends with the one that asked for it; by a cancel it ends as by Ctrl-C."""
    seconds = f"77.{os.getpid()}"  # another run of this test may be beside
    sleeper = ["record", "-o", "-", "--", "sleep", seconds]
    search = ["pgrep", "-f", f"^sleep {seconds}$"]
    for how in ("close", "kill", "cancel"):
        far = Far()
        far.say(run(*sleeper))
        end = time.time() + 20
        while time.time() < end and subprocess.run(search, stdout=subprocess.DEVNULL).returncode:
            time.sleep(0.05)
        if how == "kill":
            far.process.kill()
        if how == "cancel":
            far.say(frame(CANCEL))
            frames = far.frames()
            check(frames and frames[-1][0] == EXIT, f"{how}: {frames[-1:]}")
        far.end(how)
        end = time.time() + 10
        while time.time() < end and not subprocess.run(search, stdout=subprocess.DEVNULL).returncode:
            time.sleep(0.05)
        left = subprocess.run(search, stdout=subprocess.PIPE).stdout
        check(not left, f"{how}: the command runs on: {left}")
        for pid in left.split():
            os.kill(int(pid), signal.SIGKILL)


if "CAIRN_BAD" in os.environ:
    far_end(os.environ["CAIRN_BAD"])
    sys.exit(0)
check_far_ends()
check_slow_reader()
check_near_ends()
check_ends()
print("\n".join(f"FAIL: {text}" for text in wrong))
print(f"{n_checks} checks of ends that lie, {len(wrong)} failed")
sys.exit(bool(wrong))
