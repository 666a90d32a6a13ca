#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn heap lost of real programs under load: what it claims, a look that stops the process confirms."""
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time

CAIRN = os.environ["CAIRN"]
WORK = os.getcwd()
LOAD_SECONDS = 3
PROCESSES = 4  # of one program that are looked at
# What is lost in released programs, by a function of its stack: docs/guide/leaks.md explains each.
KNOWN = {"save_ps_display_args": "its copy of environ, which setenv(3) replaced",
         "PostmasterMain": "its copy of -D, read once",
         "JLI_Launch": "texts of the launcher that were copied on",
         "Compiler::initialize": "the arena of C1's constants, whose memory is held elsewhere"}
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
n_checks = 0
started = []


def fail(what):
    for one in started:
        one.terminate()
    print(f"FAIL: {what}")
    sys.exit(1)


def find(program, *places):
    for place in places:
        if os.path.exists(f"{place}/{program}"):
            return f"{place}/{program}"
    return shutil.which(program)


def children(pid):
    found = []
    for child in subprocess.run(["pgrep", "-P", str(pid)], text=True, stdout=subprocess.PIPE).stdout.split():
        found += [child] + children(child)
    return found


def look(pid, *options):
    """The answer; None: the process is not tracked, or has ended."""
    done = subprocess.run([CAIRN, "heap", "lost", "--top", "0", "--json", *options, pid], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if any(text in done.stderr for text in ("not tracked", "ended", "No such process", "no process")):
        return None
    fail(f"cairn heap lost {pid}: {done.stderr}")


def places(row):
    """A stack, whatever the order of its rows."""
    return tuple(str((frame.get("module"), frame.get("rel"), [line["function"] for line in frame["lines"]]))
                 for frame in row["frames"])


def judge(name, pid):
    """Looks while it runs; then again while it is stopped, if something is lost."""
    global n_checks
    found = look(pid)
    if not found:
        return False
    n_checks += 1
    sums = f"{found['lost']['blocks']} of {found['look']['blocks']} blocks lost, {found['possibly']['blocks']} possibly"
    print(f"{name} {pid}: {sums}; {found['look']['passes']} passes{'; ' + found['unsure'] if found['unsure'] else ''}")
    if not found["lost_stacks"]:
        return True
    stopped = look(pid, "--consistent")
    if not stopped:
        fail(f"{name}: ended before it was asked again")
    confirmed = {places(row) for row in stopped["lost_stacks"]}
    for row in found["lost_stacks"]:
        names = [line["function"] for frame in row["frames"] for line in frame["lines"]]
        if places(row) not in confirmed:
            fail(f"{name}: {row['blocks']} blocks of {' < '.join(names[:8])}: a look that stops it finds them held")
        reasons = [KNOWN[text] for text in KNOWN if any(text in function for function in names)]
        print(f"    {row['bytes']} bytes in {row['blocks']} blocks and by that {row['indirect_bytes']} in "
              f"{row['indirect_blocks']}: {' < '.join(names[:12])} ({reasons[0] if reasons else 'not explained yet'})")
    return True


def program(name, command, load=None, user=None, ready=None, words=""):
    """Starts it, gives it load all the time, and looks at its processes."""
    if not command[0]:
        print(f"{name}: skipped, it is missing")
        return
    folder = f"{WORK}/{name}"
    os.makedirs(folder, exist_ok=True)
    prefix = []
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    run = subprocess.Popen([*prefix, CAIRN, "heap", "run", "-f", "-o", f"{folder}/run.heap", "--", *command],
                           cwd=folder, stdin=subprocess.PIPE, text=True, **QUIET)
    started.append(run)
    run.stdin.write(words)
    run.stdin.flush()
    for _ in range(200):
        if run.poll() is not None:
            fail(f"{name} ended at once: {run.returncode}")
        if len(children(run.pid)) and (not ready or ready()):
            break
        time.sleep(0.1)
    loads = [subprocess.Popen(words, cwd=folder, **QUIET) for words in load] if load else []
    started.extend(loads)
    time.sleep(LOAD_SECONDS)
    n_judged = 0
    for pid in children(run.pid):
        n_judged += n_judged < PROCESSES and judge(name, pid)
    for one in loads:
        one.terminate()
        one.wait()
    run.stdin.close()
    for pid in children(run.pid)[:1]:
        subprocess.run(["kill", "-INT", pid], check=False)
    try:
        run.wait(60)
    except subprocess.TimeoutExpired:
        fail(f"{name} does not end")
    started.clear()
    if not n_judged:
        fail(f"{name}: no process of it was tracked")


def again(script):
    return ["sh", "-c", f"while :; do {script}; done"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_redis():
    where = f"{WORK}/redis/socket"
    program("redis", [find("redis-server"), "--port", "0", "--unixsocket", where, "--save", ""],
            ready=lambda: os.path.exists(where),
            load=[again(f"redis-benchmark -s {where} -n 100000 -q -r 10000"),
                  again(f"redis-cli -s {where} eval 'local t = {{}} for i = 1, 1000 do t[i] = tostring(i) end "
                        f"return #t' 0; redis-cli -s {where} debug reload; sleep 0.1")])


def run_nginx():
    port = free_port()
    os.makedirs(f"{WORK}/nginx/html", exist_ok=True)
    with open(f"{WORK}/nginx/html/index.html", "w") as page:
        page.write("".join(f"{i}\n" for i in range(20000)))
    with open(f"{WORK}/nginx/nginx.conf", "w") as conf:
        conf.write(f"""daemon off; pid nginx.pid; error_log error.log; worker_processes 2;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 64; }}
http {{ access_log nginx.log; gzip on; gzip_types *;
client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
server {{ listen 127.0.0.1:{port}; location ~ ^/x(a|b)+c {{ return 200 "ok"; }} location / {{ root html; }} }} }}
""")
    program("nginx", [find("nginx", "/usr/sbin"), "-p", f"{WORK}/nginx", "-c", f"{WORK}/nginx/nginx.conf"],
            ready=lambda: os.path.exists(f"{WORK}/nginx/nginx.pid"),
            load=[again(f"wrk -t 1 -c 8 -d 2s http://127.0.0.1:{port}/xababc"),
                  again(f"wrk -t 1 -c 4 -d 2s -H 'Accept-Encoding: gzip' http://127.0.0.1:{port}/; sleep 0.1")])


def run_postgres():
    binary = find("postgres", *(f"/usr/lib/postgresql/{n}/bin" for n in range(20, 9, -1)))
    user = "postgres" if os.geteuid() == 0 else None
    if not binary or (user and user not in (entry.pw_name for entry in pwd.getpwall())):
        return print("postgres: skipped, it is missing, or its user")
    folder, tools = f"{WORK}/postgres", os.path.dirname(os.path.realpath(binary))
    os.makedirs(folder, exist_ok=True)
    prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        os.chmod(WORK, 0o711)
    subprocess.run([*prefix, "env", "LC_ALL=C", f"{tools}/initdb", "-D", f"{folder}/data", "-N"], check=True,
                   cwd=folder, **QUIET)
    bench = f"{tools}/pgbench -h {folder} -U {user or pwd.getpwuid(os.getuid()).pw_name}"
    return program("postgres", [f"{tools}/postgres", "-D", f"{folder}/data", "-F", "-k", folder, "-c",
                                "listen_addresses="], user=user,
                   ready=lambda: os.path.exists(f"{folder}/.s.PGSQL.5432"),
                   load=[["sh", "-c", f"{bench} -i -s 1 postgres; {bench} -c 3 -T 300 postgres"]])


def run_others():
    with open("load.js", "w") as script:
        script.write("""let kept = [];
function turn() {
    const rows = JSON.parse(JSON.stringify([...Array(500).keys()].map(i => ({a: i, s: 'x'.repeat(i % 30)}))));
    kept.push(require('zlib').gzipSync(JSON.stringify(rows)), require('crypto').createHash('sha256').update('x').digest());
    kept = kept.slice(-50);
    setTimeout(turn, 1);
}
turn();
""")
    with open("Load.java", "w") as source:
        source.write("""import java.util.*;
public class Load {
    public static void main(String[] args) throws Exception {
        for (int k = 0; k < 4; k++)
            new Thread(() -> {
                Map<String, byte[]> map = new TreeMap<>();
                for (int n = 0;; n++) {
                    map.put("k" + n % 5000, new byte[n % 3000]);
                    var zip = new java.util.zip.Deflater();
                    zip.setInput(new byte[10000]); zip.finish(); zip.deflate(new byte[100]); zip.end();
                }
            }).start();
    }
}
""")
    program("node", [find("node"), f"{WORK}/load.js"])
    if shutil.which("javac"):
        subprocess.run(["javac", "Load.java"], check=True)
        program("java", [find("java"), "-Xmx128m", "-cp", WORK, "Load"])
    program("python", ["/usr/bin/python3", "-c", """import json, re, sqlite3, threading, zlib
kept = {}
def work(k):
    n = 0
    while True:
        n += 1
        kept[k, n % 3000] = [str(n)] * 3
        json.loads(json.dumps(list(kept.values())[:50]))
        re.compile("a%d(b|c)*" % (n % 700)).match("abcb")
        zlib.compress(b"x" * 5000)
for k in range(3):
    threading.Thread(target=work, args=(k,)).start()
"""])
    program("sqlite", [find("sqlite3"), "test.db"], words="create table t(a, b); create index i on t(b);\n" + "".join(
        f"insert into t values({i}, hex(randomblob(20))); select count(*) from t a join t b on a.b = b.b;\n"
        for i in range(3000)))
    if shutil.which("git"):
        subprocess.run("git init -q repo && cd repo && seq 1 3000 >numbers && git add . && for i in $(seq 1 60); do "
                       "echo $i >>numbers; git -c user.name=a -c user.email=a@b commit -qam $i; done", shell=True, check=True)
        program("git", [find("git"), "-C", f"{WORK}/repo", "cat-file", "--batch"], words="".join(
            f"HEAD~{i % 50}\nHEAD~{i % 50}:numbers\n" for i in range(3000)))


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        print("skipped: there is no libcairn-heap.so")
        sys.exit(77)
    run_redis()
    run_nginx()
    run_postgres()
    run_others()
    print(f"{n_checks} looks at real programs under load")


main()
