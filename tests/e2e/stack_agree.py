#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stacks of living processes beside eu-stack's, address by address: own programs built in many
ways, and what people run. Each process is stopped, so that both see the same."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

import stacks

SRC = os.environ["SRC"] + "/tests/e2e/stack_programs.c"
CC = os.environ.get("CC", "cc").split()
WAYS = {
    "O2": ["-O2", "-fomit-frame-pointer"],
    "O0": ["-O0"],
    "no-pie": ["-O2", "-no-pie"],
    "static": ["-O2", "-static"],
    "stripped": ["-O2", "-s"],
    "frame pointers": ["-O2", "-fno-omit-frame-pointer"],
}
SCRIPTS = {
    # Through map() each call has C frames of its own.
    "deep.py": """import sys, time
def f(n): return time.sleep(1000) if n == 0 else list(map(f, [n - 1]))
f(int(sys.argv[1]))
""",
    "deep.js": """function f(n) {
    if (n > 0) return 1 + f(n - 1);
    return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9);
}
f(30);
""",
    "Deep.java": """public class Deep {
    static int f(int n) throws Exception {
        if (n > 0) return 1 + f(n - 1);
        Thread.sleep(1000000);
        return 0;
    }
    public static void main(String[] a) throws Exception { f(30); }
}
""",
}
ENDLESS = ("with recursive c(x) as (select 1 union all select x + 1 from c where x < 1e18) "
           "select count(*) from c;")
failed = []


LIMIT = 1024  # CAIRN_MAX_FRAMES


def compare(name, pid):
    """Both walks of a process; the threads are those that it has when it stands still."""
    if not stacks.stop(pid):
        failed.append(f"{name}: it does not stop")
    mine, theirs = stacks.ours(pid), stacks.eu_stack(pid)
    os.kill(pid, signal.SIGCONT)
    if not theirs:
        failed.append(f"{name}: eu-stack gives nothing")
    for tid, stack in mine.items():
        wanted = (theirs.get(tid), "outermost")
        if len(wanted[0] or []) > LIMIT:
            wanted = (wanted[0][:LIMIT], "deeper than the frame limit")
        if (stack.addresses, stack.end) != wanted:
            failed.append(f"{name}: thread {tid}: {stack.end}\n" + "\n".join(
                f"    {a} {t}" for a, t in zip(
                    [f"{a:x} {h} {n}" for a, h, n in
                     zip(stack.addresses, stack.how, stack.names)] + ["-"] * 99,
                    [f"{t:x}" for t in theirs.get(tid, [])])))
    return len(mine), sum(len(s.addresses) for s in mine.values())


def run(name, command, **options):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=options.pop("stdin", subprocess.DEVNULL))
    try:
        wait = stacks.wait_busy if options.get("busy") else stacks.wait_asleep
        if not wait(process.pid):
            print(f"skipped: {name}: it does not come to rest")
            return
        threads, frames = compare(name, process.pid)
        print(f"{name}: {threads} threads, {frames} frames")
    finally:
        process.kill()
        process.wait()


def own_programs():
    for way, options in WAYS.items():
        if subprocess.run([*CC, *options, "-pthread", "-o", "prog", SRC], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            print(f"skipped: {way}: cannot be built here")
            continue
        for what in "deep", "threads", "handler":
            run(f"{way} {what}", ["./prog", what])


def of_32_bits():
    options = ["-m32", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-O2", "-fomit-frame-pointer",
               "-fno-stack-protector", "-fasynchronous-unwind-tables"]
    source = os.path.dirname(SRC) + "/stack_i386.c"
    if subprocess.run([*CC, *options, "-o", "prog", source], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        print("skipped: i386: cannot be built here")
        return
    try:
        run("i386", ["./prog"])
    except OSError as error:
        print(f"skipped: i386: this kernel runs no such program: {error}")


def others():
    for name, text in SCRIPTS.items():
        with open(name, "w", encoding="ascii") as f:
            f.write(text)
    rows = [("python3", ["/usr/bin/python3", "deep.py", "150"]),
            ("python3, deeper than we go", ["/usr/bin/python3", "deep.py", "400"]), ("node", ["node", "deep.js"]),
            ("java", ["java", "Deep.java"]),
            ("redis-server", ["redis-server", "--port", "0", "--save", "",
                              "--unixsocket", os.getcwd() + "/redis.socket"])]
    for name, command in rows:
        if shutil.which(command[0]):
            run(name, command)
        else:
            print(f"skipped: {name}: is missing")
    if shutil.which("sqlite3"):
        with open("endless.sql", "w+", encoding="ascii") as f:
            f.write(ENDLESS)
            f.seek(0)
            run("sqlite3", ["sqlite3", ":memory:"], stdin=f, busy=True)
    else:
        print("skipped: sqlite3: is missing")


@contextlib.contextmanager
def running(command, how):
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.send_signal(how)


def family(pid):
    """A process and its children."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [pid, *map(int, f.read().split())]


def at_rest(pid, least):
    """The members of a family, once it has so many, and all sleep while none comes or goes."""
    for _ in range(600):
        members = family(pid)
        if len(members) >= least and all(map(stacks.wait_asleep, members)) and \
                members == family(pid):
            return members
        time.sleep(0.1)
    return []


def compare_family(name, pid, least):
    """A server of several processes."""
    counts = [compare(name, member) for member in at_rest(pid, least)]
    if not counts:
        failed.append(f"{name}: it does not come to rest")
        return
    print(f"{name}: {len(counts)} processes, {sum(frames for _, frames in counts)} frames")


def nginx():
    if not shutil.which("nginx"):
        print("skipped: nginx: is missing")
        return
    with open("nginx.conf", "w", encoding="ascii") as f:
        f.write(f"daemon off; pid nginx.pid; error_log stderr; worker_processes 2; events {{}}\n"
                f"http {{ access_log off; server {{ listen unix:{os.getcwd()}/nginx.socket; }}\n"
                + "".join(f"    {what}_temp_path temp;\n" for what in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) + "}\n")
    with running(["nginx", "-p", os.getcwd(), "-c", "nginx.conf"], signal.SIGTERM) as server:
        compare_family("nginx", server.pid, 3)


def postgres():
    """The server, what it starts, and a backend that sleeps within a query; it refuses root."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found or not shutil.which("psql"):
        print("skipped: postgres: is missing")
        return
    here, folder, way = os.getcwd(), os.path.dirname(found[-1]), []
    os.mkdir("postgres")
    if os.geteuid() == 0:
        try:
            shutil.chown("postgres", "postgres")
        except LookupError:
            print("skipped: postgres: it refuses root, and there is no user postgres")
            return
        os.chmod(here, 0o711)
        way = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run([*way, found[-1], "-D", here + "/postgres/data", "-N", "-A", "trust"], check=True,
                   stdout=subprocess.DEVNULL)
    with running([*way, folder + "/postgres", "-D", here + "/postgres/data", "-k",
                  here + "/postgres", "-c", "listen_addresses="], signal.SIGQUIT) as server:
        client = [*way, "psql", "-h", here + "/postgres", "-d", "postgres", "-c"]
        # Its socket is there before it takes clients.
        while server.poll() is None and subprocess.run([*client, "select"], check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            time.sleep(0.1)
        with running([*client, "do $$ begin perform pg_sleep(1000); end $$"], signal.SIGKILL):
            compare_family("postgres", server.pid, 7)


def main():
    if not shutil.which("eu-stack"):
        print("skipped: eu-stack is missing")
        sys.exit(77)
    if not stacks.may_trace():
        print("skipped: kernel.yama.ptrace_scope forbids to trace")
        sys.exit(77)
    own_programs()
    of_32_bits()
    others()
    nginx()
    postgres()
    print("\n".join(failed))
    sys.exit(bool(failed))


main()
