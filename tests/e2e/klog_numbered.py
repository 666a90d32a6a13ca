#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn resolve on dumps as contrib/kernel prints them: files and offsets in place of maps, equal stacks, places
without code, threads without a user stack; as text, JSON, profile and with --annotate."""
import json
import os
import pathlib
import re
import subprocess
import sys

CAIRN, CC = os.environ["CAIRN"], os.environ.get("CC", "cc").split()

LIBRARY = """
void back(void);
__attribute__((noinline)) void work(void)
{
    back();
    __asm__ volatile("");
}
"""
PROGRAM = """
void work(void);
void back(void)
{
    __asm__ volatile("nop");
}
int main(void)
{
    work();
    return 0;
}
"""


def fail(text):
    print("klog_numbered: " + text)
    sys.exit(1)


def resolve(*args, status=0):
    run = subprocess.run([CAIRN, "resolve", *map(str, args)], text=True, capture_output=True)
    if run.returncode != status:
        fail(f"{args}: exit status {run.returncode}, expected {status}\n{run.stdout}{run.stderr}")
    return run


def compile_to(path, source, *flags):
    pathlib.Path("source.c").write_text(source)
    subprocess.run([*CC, "-g", "-O1", "-fPIC", "source.c", *flags, "-o", path], check=True)


def place(path, function, after):
    """The offset in the file of what follows `after` in the function, or of its start."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, text=True,
                          capture_output=True).stdout
    body = text.split(f"<{function}>:\n")[1].split("\n\n")[0].splitlines()
    lines = [int(line.split(":")[0], 16) for line in body]
    vaddr = lines[0] if not after else next(b for a, b in zip(body, lines[1:]) if re.search(after, a))
    for line in subprocess.run(["readelf", "-lW", path], text=True, capture_output=True).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and int(words[2], 16) <= vaddr < int(words[2], 16) + int(words[4], 16):
            return vaddr - int(words[2], 16) + int(words[1], 16)
    return fail(f"{path}: {function}")


def expect(text, *lines):
    rest = text
    for line in lines:
        if line not in rest:
            fail(f"not there, or not in this order: {line}\n{text}")
        rest = rest.split(line, 1)[1]


os.makedirs("root/lib")
os.makedirs("root/bin")
compile_to("root/lib/libwork.so", LIBRARY, "-shared", "-fuse-ld=lld")
compile_to("root/bin/prog", PROGRAM, "-Lroot/lib", "-lwork", "-Wl,-rpath,/lib", "-rdynamic")
CALL = r"\b(call|callq|bl)\b"
BACK, WORK, MAIN = (place("root/bin/prog", "back", None), place("root/lib/libwork.so", "work", CALL),
                    place("root/bin/prog", "main", CALL))
USER = (f"[    1.000003] t: user backtrace (raw user PCs): #12\n"
        f"[    1.000004] t:   [u00] 0x{0x401000 + BACK:016x} /bin/prog+{BACK:#x} #12\n"
        f"[    1.000005] t:   [u01] 0x{0x7f0000000000 + WORK:016x} lib/libwork.so (deleted)+{WORK:#x} #12\n"
        f"[    1.000006] t:   [u02] 0x{0x401000 + MAIN:016x} /bin/prog+{MAIN:#x} #12\n"
        f"[    1.000007] t:   [u03] 0x485300656d616e74 no code #12\n")
LOG = ("[    1.000000] t: pid=110 comm=prog tgid=108 cpu=1 bits=32 #12\n"
       "[    1.000001] t: kernel backtrace: #12\n"
       "[    1.000002] t:   [k00] f+0x1/0x2 [mod] #12\n" + USER +
       "[    1.000008] t: 7 dumps before #13 were not printed\n"
       "[    1.000009] t: pid=111 comm=prog tgid=108 cpu=0 #13\n"
       "[    1.000010] t: same as #12 #13\n"
       "[    1.000011] t: pid=5 comm=kworker/0:1 tgid=5 cpu=0 #14\n"
       "[    1.000012] t: kernel backtrace: #14\n"
       "[    1.000013] t:   [k00] g+0x1/0x2 #14\n"
       "[    1.000014] t: no user backtrace: a kernel thread #14\n"
       "[    1.000015] t: pid=112 comm=prog tgid=108 cpu=0 #15\n"
       "[    1.000016] t: same as #3 #15\n")
pathlib.Path("log").write_text(LOG)
NAMED = [f"/bin/prog+{BACK:#x} => back @ ", f"lib/libwork.so+{WORK:#x} => work @ ", ":5\n",
         f"/bin/prog+{MAIN:#x} => main @ ", ":9\n", "0x485300656d616e74 <no mapping>\n",
         "# the stack ends here: this is no address of code\n"]

run = resolve("log", "--symbols", "root")
expect(run.stdout, "# t: pid=110 comm=prog tgid=108 cpu=1 bits=32 time=1.000000 line=1 dump=12\n", *NAMED,
       "# t: pid=111 comm=prog tgid=108 cpu=0 time=1.000009 line=10 dump=13\n# same as dump 12\nf+0x1/0x2 [mod]\n",
       "# t user stack for pid=111\n", *NAMED,
       "# t: pid=5 comm=kworker/0:1 tgid=5 cpu=0", "g+0x1/0x2\n# no user stack: a kernel thread\n",
       "# t: pid=112 comm=prog", "# same as dump 3, which is not in this log\n")
expect(run.stderr, "17 lines, 4 dumps, 4 shown\n", "7 dumps not printed by the kernel\n")
one = resolve("log", "--symbols", "root", "--pid", "5")
expect(one.stderr, "17 lines, 4 dumps, 1 shown\n")
pathlib.Path("one").write_text("t: pid=1 comm=x #1\nt: kernel backtrace: #1\nt:   [k00] f+0x1/0x2 #1\n")
expect(resolve("one").stderr, "3 lines, 1 dump, 1 shown\n")

# Maps of another moment do not change what the log says; those of the same agree and have the whole path.
pathlib.Path("other.maps").write_text("00401000-00409000 r-xp 00000000 08:01 5 /bin/other\n"
                                      "7f0000000000-7f0000009000 r-xp 00003000 08:01 5 /lib/libwork.so\n")
expect(resolve("log", "--symbols", "root", "--maps", "other.maps").stdout, *NAMED)
pathlib.Path("same.maps").write_text("00401000-00409000 r-xp 00000000 08:01 5 /bin/prog\n"
                                     "7f0000000000-7f0000009000 r-xp 00000000 08:01 5 /usr/lib/libwork.so\n")
expect(resolve("log", "--symbols", "root", "--maps", "same.maps").stdout, f"/usr/lib/libwork.so+{WORK:#x} => work @ ")
# Maps of another process are no failure where none are needed.
resolve("log", "--symbols", "root", "--maps", "9=same.maps")

# Two dumps, line by line: the numbers tell.
twelve = [line for line in LOG.splitlines() if line.endswith(" #12")]
both = "".join(f"{line}\n{line[:-2]}22\n" for line in twelve).replace("comm=prog tgid=108 cpu=1 bits=32 #22",
                                                                      "comm=prog tgid=208 cpu=0 #22")
pathlib.Path("mixed").write_text(both)
mixed = resolve("mixed", "--symbols", "root")
expect(mixed.stdout, "tgid=108", *NAMED, "tgid=208", *NAMED)
if "mixed with others" in mixed.stderr:
    fail(mixed.stderr)

rows = [json.loads(line) for line in resolve("log", "--symbols", "root", "--json").stdout.splitlines()]
if [row.get("same_as") for row in rows] != [None, 12, None, 3] or rows[2]["no_user"] != "a kernel thread" or \
   [row.get("bits") for row in rows] != [32, None, None, None]:
    fail(f"JSON: {rows}")
functions = [[line["function"] for frame in row["stack"] for line in frame["frames"]] for row in rows]
if functions != [["back", "work", "main"], ["back", "work", "main"], [], []]:
    fail(f"JSON: {functions}")
if rows[0]["stack"][-1]["marks"] != ["no_code"] or rows[0]["stack"][-1]["unnamed"] != "no executable mapping":
    fail(f"JSON: {rows[0]['stack'][-1]}")

annotated = resolve("log", "--symbols", "root", "--annotate").stdout
expect(annotated, "back (source.c:", f") /bin/prog+{BACK:#x} #12\n", f" work (source.c:5) lib/libwork.so (deleted)+",
       f" main (source.c:9) /bin/prog+{MAIN:#x} #12\n", "0x485300656d616e74 no code #12\n")
if re.sub(r" \w+ \(source\.c:\d+\)", "", annotated) != LOG:
    fail(f"--annotate changes more than symbols:\n{annotated}")
# The head with the number of the line says whose maps to take.
bare = re.sub(r" \S+( \(deleted\))?\+0x\w+ #", " #", both)
pathlib.Path("bare").write_text(bare)
pathlib.Path("wrong.maps").write_text("00401000-00409000 r-xp 00000000 08:01 5 /bin/nothing\n")
annotated = resolve("bare", "--symbols", "root", "--annotate", "--maps", "108=same.maps", "--maps",
                    "208=wrong.maps").stdout
if annotated.count("back (source.c:") != 1 or not re.search(r"back \(source.c:\d+\) #12\n", annotated):
    fail(f"--annotate with maps by number:\n{annotated}")

resolve("log", "--symbols", "root", "-o", "out.pb.gz", "-f")
report = subprocess.run([CAIRN, "report", "out.pb.gz"], check=True, text=True, capture_output=True).stdout
expect(report, "work")
print("4 dumps in 5 forms")
