#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under a load, for as long as they are looked at; for record.py and stack.py."""
import contextlib
import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ENDLESS = 3600


class Absent(Exception):
    """What is missing for a program."""


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Absent(f"{name} is not installed")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port):
    for _ in range(300):
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise Absent(f"nobody answers at port {port}")


@contextlib.contextmanager
def running(*words, **options):
    """A process, and those that it starts, until the block is left."""
    child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, preexec_fn=os.setpgrp, **options)
    try:
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, 15)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()


@contextlib.contextmanager
def public_folder():
    """One that a server's own user may enter."""
    folder = tempfile.mkdtemp(prefix="cairn-bench-", dir="/tmp")
    os.chmod(folder, 0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def again(*words):
    """A shell that runs the command until it is ended."""
    return "sh", "-c", 'while "$@"; do :; done', "sh", *words


@contextlib.contextmanager
def redis(work):
    need("redis-server", "redis-benchmark")
    port = free_port()
    with running("redis-server", "--port", port, "--save", "", "--dir", work) as pid:
        wait_for(port)
        with running(*again("redis-benchmark", "-p", str(port), "-q", "-n", "200000", "-r", "10000", "-t",
                            "set,get,lpush,zadd,lrange_300")):
            yield pid


@contextlib.contextmanager
def postgres(_work):
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not folders:
        raise Absent("postgres is not installed")
    with public_folder() as data:
        yield from postgres_in(folders[-1], data)


def postgres_in(tools, data):
    user, port = [], free_port()
    if os.getuid() == 0: # whom it refuses
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(data, "postgres")
    place = ["-h", "127.0.0.1", "-p", str(port), "-U", "bench"]

    def run(*words):
        subprocess.run([*user, *words], check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run(f"{tools}/initdb", "-D", data, "-A", "trust", "-U", "bench", "-N")
    with running(*user, f"{tools}/postgres", "-D", data, "-p", port, "-k", "", cwd="/") as pid:
        wait_for(port)
        # It listens before it takes anybody in.
        while subprocess.run([f"{tools}/pg_isready", "-q", *place], check=False).returncode == 1:
            time.sleep(0.1)
        run(f"{tools}/createdb", *place, "bench")
        run(f"{tools}/pgbench", *place, "-i", "-s", "2", "bench")
        # -C: each transaction has a connection, and so a process of its own.
        with running(f"{tools}/pgbench", *place, "-T", ENDLESS, "-c", 2, "bench"), \
                running(f"{tools}/pgbench", *place, "-C", "-S", "-T", ENDLESS, "bench"):
            yield pid


@contextlib.contextmanager
def nginx(_work):
    need("nginx", "wrk")
    with public_folder() as folder:
        yield from nginx_in(folder)


def nginx_in(folder):
    port = free_port()
    with open(f"{folder}/page.html", "w") as page:
        page.write("<p>a line of the page that is asked for</p>\n" * 200)
    with open(f"{folder}/conf", "w") as conf:
        conf.write(f"""daemon off; worker_processes 1; pid {folder}/pid; error_log /dev/null;
events {{}}
http {{ access_log off; gzip on; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
uwsgi_temp_path {folder}; scgi_temp_path {folder};
server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
""")
    with running("nginx", "-p", folder, "-c", f"{folder}/conf") as pid:
        wait_for(port)
        with running("wrk", "-t1", "-c20", f"-d{ENDLESS}", "-H", "Accept-Encoding: gzip",
                     f"http://127.0.0.1:{port}/page.html"):
            yield pid


@contextlib.contextmanager
def node(work):
    need("node")
    with running("node", "--perf-basic-prof", f"{HERE}/work.js", cwd=work) as pid:
        time.sleep(2)
        yield pid
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"/tmp/perf-{pid}.map")


@contextlib.contextmanager
def python(work):
    with running(*again("/usr/bin/python3", f"{HERE}/../heap/work.py"), cwd=work) as pid:
        yield pid


@contextlib.contextmanager
def sqlite(work):
    need("sqlite3")
    with running("sh", "-c", f"while sqlite3 :memory: <{HERE}/../heap/work.sql; do :; done", cwd=work) as pid:
        yield pid


@contextlib.contextmanager
def java(work, *options):
    need("java", "javac")
    subprocess.run(["javac", "-d", work, f"{HERE}/Work.java"], check=True)
    with running("java", *options, "-cp", work, "Work") as pid:
        time.sleep(3)
        yield pid


def java_fp(work):
    """With the option that makes its compilers keep frame pointers."""
    return java(work, "-XX:+PreserveFramePointer")


@contextlib.contextmanager
def cpp(work):
    """A C++ program that clang built, without frame pointers as is its way."""
    need("clang++")
    subprocess.run(["clang++", "-O2", "-g", "-o", f"{work}/work_cpp", f"{HERE}/work.cpp"], check=True)
    with running(f"{work}/work_cpp", ENDLESS) as pid:
        yield pid


@contextlib.contextmanager
def clang(work):
    need("clang++")
    with running(*again("clang++", "-std=c++17", "-O2", "-c", f"{HERE}/../heap/work.cpp", "-o", f"{work}/work.o")) as pid:
        yield pid


@contextlib.contextmanager
def shell(work):
    """Short commands: each lives a millisecond."""
    with running(*again("sh", "-c", "for i in $(seq 300); do /bin/true; done"), cwd=work) as pid:
        yield pid


ALL = [redis, postgres, nginx, node, python, sqlite, java, java_fp, cpp, clang, shell]


def main():
    """programs.py NAME WORK: runs one until Enter."""
    chosen = {program.__name__: program for program in ALL}[sys.argv[1]]
    os.makedirs(sys.argv[2], exist_ok=True)
    with chosen(sys.argv[2]) as pid:
        print(pid, flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
