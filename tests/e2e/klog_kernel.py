#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn resolve on reports of a made-up kernel and its module: lines by symbol and offset, callers one byte
earlier, build IDs, functions of one name; and the forms of the answer: JSON, profile, --annotate, --follow."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

CAIRN, CC = os.environ["CAIRN"], os.environ.get("CC", "cc").split()

KERNEL = """
static int twice(int x);
__attribute__((noinline)) int crash(volatile int *p)
{
    *p = 1;
    return *p;
}
static inline __attribute__((always_inline)) int inner(volatile int *p)
{
    return crash(p) + 1;
}
__attribute__((noinline)) int outer(volatile int *p)
{
    int n = inner(p);
    return n * 3;
}
__attribute__((noinline)) static int twice(int x)
{
    return x + outer(&x);
}
int main(void) { return twice(2) + other(3); }
"""
OTHER = """
__attribute__((noinline)) static int twice(int x)
{
    volatile int sum = x;
    for (int i = 0; i < x; i++)
        sum += crash((int *)&sum) * i;
    return sum;
}
int other(int x) { return twice(x) + 1; }
"""
MODULE = """
int helper(int x);
__asm__(".text\\n.fill 64, 1, 0x90");
__attribute__((noinline)) int probe(int x)
{
    return helper(x) + 1;
}
"""


def fail(text):
    print("klog_kernel: " + text)
    sys.exit(1)


def run(*args, status=0, stdin=None):
    done = subprocess.run([CAIRN, "resolve", *map(str, args)], text=True, capture_output=True, input=stdin)
    if done.returncode != status:
        fail(f"{args}: exit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def build():
    pathlib.Path("kernel.c").write_text("int other(int x);\n" + KERNEL)
    pathlib.Path("other.c").write_text("int crash(volatile int *p);\n" + OTHER)
    pathlib.Path("mod.c").write_text(MODULE)
    flags = ["-g", "-O1", "-fno-inline-small-functions", "-fno-ipa-sra", "-fno-optimize-sibling-calls", "-fno-pie",
             "-fcf-protection=none"] if os.uname().machine == "x86_64" else ["-g", "-O1", "-fno-pie"]
    for args in (["kernel.c", "other.c", "-no-pie", "-Wl,--build-id", "-o", "vmlinux"],
                 ["-c", "mod.c", "-o", "my-mod.ko"]):
        subprocess.run(CC + flags + args, check=True)


def functions(elf):
    """name -> places and sizes; and return addresses behind each call, by the disassembly."""
    found = {}
    for row in subprocess.run(["nm", "-S", elf], text=True, capture_output=True).stdout.splitlines():
        fields = row.split()
        if len(fields) == 4 and fields[2] in "tT":
            found.setdefault(fields[3], []).append((int(fields[0], 16), int(fields[1], 16)))
    return found


def call_behind(elf, function, start):
    """The offset of the return address of the first call in the function at `start`."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", elf], text=True, capture_output=True).stdout
    rows = [(int(m[1], 16), m[2]) for m in re.finditer(r"^ *([0-9a-f]+):\t(\S+)", text, re.MULTILINE)]
    for (at, name), (behind, _) in zip(rows, rows[1:]):
        if at >= start and name in ("call", "callq", "bl", "jal"):
            return behind - start
    fail(f"{elf}: no call in {function}")


def line_of(source, text):
    return 1 + pathlib.Path(source).read_text().splitlines().index(text)


def expect(text, *lines):
    for line in lines:
        if not re.search(line, text, re.MULTILINE):
            fail(f"\"{line}\" is not in\n{text}")


def oops(names, module):
    crash, outer = names["crash"][0], names["outer"][0]
    small, large = sorted(names["twice"], key=lambda f: f[1])
    ret = call_behind("vmlinux", "outer", outer[0])
    probe = functions("my-mod.ko")["probe"][0]
    at = call_behind("my-mod.ko", "probe", probe[0])
    rows = [f"RIP: 0010:crash+0x0/{crash[1]:#x}", "Code: 00 11", "Call Trace:", " <TASK>",
            f" outer+{ret:#x}/{outer[1]:#x}"]
    rows += [f" ? twice+{call_behind('vmlinux', 'twice', f[0]):#x}/{f[1]:#x}" for f in (small, large)]
    rows += [f" probe+{at:#x}/{probe[1]:#x} [{module}]", " gone+0x1/0x2", " </TASK>"]
    return "".join(f"[   12.{i:06}] {row}\n" for i, row in enumerate(
        ["BUG: unable to handle page fault", "CPU: 1 PID: 412 Comm: my sh Not tainted 6.1 #1"] + rows))


def place_of(elf, vaddr):
    """What addr2line says, the innermost first: (function, file:line)."""
    rows = subprocess.run(["addr2line", "-fie", elf, hex(vaddr)], text=True, capture_output=True).stdout.splitlines()
    return [(rows[i], os.path.basename(rows[i + 1]).split(" ")[0]) for i in range(0, len(rows), 2)]


def check_lines(log, names):
    outer, (small, large) = names["outer"][0], sorted(names["twice"], key=lambda f: f[1])
    crash = place_of("vmlinux", names["crash"][0][0])[0][1]
    head = crash.replace(".", r"\.")
    inner, caller = place_of("vmlinux", outer[0] + call_behind("vmlinux", "outer", outer[0]) - 1)
    ret = inner[1].split(":")[1]
    wanted = [rf"^\? twice\+\S+ => twice @ \S*/" + place_of("vmlinux", f[0] + call_behind("vmlinux", "twice", f[0]) - 1)
              [0][1] + "$" for f in (small, large)]
    if inner[0] != "inner" or caller[0] != "outer" or wanted[0] == wanted[1]:
        fail(f"the compiler made something else: {inner}, {caller}, {wanted}")
    text = run(log, "--vmlinux", "vmlinux", "--symbols", ".")
    expect(text, r"^# BUG: unable to handle page fault: pid=412 comm=my sh cpu=1 time=12\.000002 line=3$",
           rf"^crash\+0x0/0x[0-9a-f]+ => crash @ \S*/{head}$",
           rf"^outer\+0x[0-9a-f]+/0x[0-9a-f]+ => inner @ \S*/{inner[1]}\n    \(inlined by\) outer @ \S*/{caller[1]}$",
           *wanted,
           rf"^probe\+\S+ \[my_mod\] => probe @ .*mod\.c:{line_of('mod.c', '    return helper(x) + 1;')}$",
           r"^gone\+0x1/0x2$")
    annotated = run(log, "--vmlinux", "vmlinux", "--symbols", ".", "--annotate")
    expect(annotated, rf"RIP: 0010:crash \({head}\)$", rf"^\S+ +\S+  inner \(kernel\.c:{ret}\) < outer \(",
           r"  probe \(mod\.c:\d+\) \[my_mod\]$", r" gone\+0x1/0x2$", r"Code: 00 11$")
    if len(annotated.splitlines()) != len(pathlib.Path(log).read_text().splitlines()):
        fail("--annotate loses lines")


def check_build_ids(names):
    note = subprocess.run(["readelf", "-n", "vmlinux"], text=True, capture_output=True).stdout
    build_id = re.search(r"Build ID: (\w+)", note)[1]
    outer = names["outer"][0]
    for wanted, named in ((build_id, True), ("0" * 40, False)):
        log = (f"WARNING: x\nCPU: 0 PID: 1 Comm: init Not tainted 6.1 #1 {wanted}\nCall Trace:\n"
               f" outer+{call_behind('vmlinux', 'outer', outer[0]):#x}/{outer[1]:#x}\n")
        text = run("-", "--vmlinux", "vmlinux", stdin=log)
        if ("kernel.c" in text) != named:
            fail(f"a kernel of build {wanted}: {text}")


def check_forms(log):
    rows = [json.loads(row) for row in run(log, "--json", "--vmlinux", "vmlinux").splitlines()]
    if len(rows) != 1 or rows[0]["pid"] != 412 or rows[0]["stack"][0]["marks"] != ["exact"] or \
            rows[0]["stack"][1]["frames"][0]["function"] != "inner":
        fail(f"--json: {rows}")
    run(log, "--vmlinux", "vmlinux", "-o", "out.pb.gz")
    run(log, "-o", "out.pb.gz", status=1)
    top = subprocess.run([CAIRN, "report", "out.pb.gz"], text=True, capture_output=True).stdout
    expect(top, r" crash +\[kernel")
    run(log, "--vmlinux", "vmlinux", "-o", "out.folded")
    expect(pathlib.Path("out.folded").read_text(), r";outer_\[k\];inner_\[k\];crash_\[k\] 1$|outer.*inner.*crash")
    before = pathlib.Path(log).read_text()
    run(log)
    if pathlib.Path(log).read_text() != before:
        fail("the log was replaced")
    for args, n in ((["--since", "12"], 1), (["--until", "12"], 0), (["--since", "12", "--until", "13"], 1),
                    (["--tag", "x"], 0), (["--pid", "412"], 1)):
        run(log, *args, status=0 if n else 1)
    run(log, "--since", "yesterday", status=1)


def check_fault():
    """A program that faulted, without maps: the log has the place in the file."""
    address, size = functions("vmlinux")["crash"][0]
    for row in subprocess.run(["readelf", "-lW", "vmlinux"], text=True, capture_output=True).stdout.splitlines():
        fields = row.split()
        if fields[:1] == ["LOAD"] and int(fields[2], 16) <= address < int(fields[2], 16) + int(fields[4], 16):
            off = address - int(fields[2], 16) + int(fields[1], 16)
    text = run("-", "--symbols", ".", stdin=f"[    1.000000] p[7]: segfault at 0 ip {address:016x} sp 00007ffe29b92518 "
               f"error 6 in vmlinux[{off:x},{address & -4096:x}+1000] likely on CPU 1 (core 1, socket 0)\n")
    expect(text, r"^# user fault: pid=7 comm=p cpu=1 ", rf"^0x{address:016x} vmlinux\+{off:#x} => crash @ .*kernel\.c:")


def check_live():
    """The maps of a process that runs, and a log that grows."""
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        time.sleep(0.2)
        maps = pathlib.Path(f"/proc/{sleeper.pid}/maps").read_text()
        code = re.search(r"^([0-9a-f]+)-\S+ r-xp .* (/\S+)$", maps, re.MULTILINE)
        head = f"t: pid={sleeper.pid} comm=x\nt: kernel backtrace:\nt:   [k00] f+0x1/0x2\nt: user backtrace:\n"
        text = run("-", "--live", stdin=head + f"t:   [u00] 0x{int(code[1], 16) + 16:016x}\n")
        expect(text, rf"^0x[0-9a-f]+ {re.escape(code[2])}\+0x")
    finally:
        sleeper.kill()
        sleeper.wait()
    follower = subprocess.Popen(["timeout", "60", CAIRN, "resolve", "-", "--follow"], text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
    follower.stdin.write(head)
    follower.stdin.flush()
    if not follower.stdout.readline().startswith("# t: pid="):  # though the log has not ended
        fail("--follow prints nothing before the end")
    follower.stdin.close()
    if follower.wait() != 0:
        fail("--follow: exit status")


def check_hostile():
    """Names cannot fool a terminal; long lines and garbage are passed."""
    pathlib.Path("bad.log").write_bytes(b"t\x1b[31m: pid=7 comm=\xff\xfe\x07x\nt: kernel backtrace:\n"
                                        b"t:   [k00] \xc2\x9bf+0x1/0x2\n" + b"[" * (1 << 20) + b"\n\0\0[u00]\n")
    text = subprocess.run([CAIRN, "resolve", "bad.log", "--from", "klog"], capture_output=True).stdout
    if any(c < 32 and c != 10 for c in text) or b"\xc2\x9b" in text:
        fail(f"what fools a terminal: {text}")
    if subprocess.run([CAIRN, "resolve", "bad.log", "--json", "--from", "klog"], capture_output=True).returncode:
        fail("--json of a bad log")


build()
symbols = functions("vmlinux")
pathlib.Path("oops.log").write_text(oops(symbols, "my_mod"))
check_lines("oops.log", symbols)
check_build_ids(symbols)
check_forms("oops.log")
check_fault()
check_live()
check_hostile()
