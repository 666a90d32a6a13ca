#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn resolve on dumps that real kernels printed: every frame comes out as addr2line has it, for
two CPUs, three kernels, both linkers, ET_EXEC, signed addresses, mixed threads."""
import os
import pathlib
import re
import subprocess
import sys
import tarfile

CAIRN = os.environ["CAIRN"]
DATA = pathlib.Path(os.environ["SRC"]) / "tests/data/klog/samples.tar.xz"
# Names of one function at one address: addr2line takes another one than cairn, which goes by perf's rule.
ALIASES = {"__libc_open64": "__open"}
LINE = re.compile(r"0x([0-9a-f]{16}) (\S+)\+0x([0-9a-f]+)(?: => (.*) @ (\S+):(\d+|\?)| (\(.*\)))?$")


def fail(text):
    print("klog_samples: " + text)
    sys.exit(1)


def resolve(*args, status=0):
    run = subprocess.run([CAIRN, "resolve", *map(str, args)], text=True, capture_output=True)
    if run.returncode != status:
        fail(f"{args}: exit status {run.returncode}, expected {status}\n{run.stdout}{run.stderr}")
    return run


def dumps_of(text):
    """Each dump: its head, and its user frames with the names of each."""
    found = []
    for line in text.splitlines():
        if re.match(r"# [^:]*: pid=", line):
            found.append((line, []))
        elif line.startswith("0x"):
            match = LINE.match(line)
            if not match and not line.endswith("<no mapping>"):
                fail(f"a line of another form: {line}")
            found[-1][1].append([match, [match[4]] if match and match[4] else []])
        elif line.startswith("    (inlined by) "):
            found[-1][1][-1][1].append(line[len("    (inlined by) "):].rsplit(" @ ", 1)[0])
    return found


def expected_of(path):
    """program -> dumps, each a pid and frames: (path or name, offset, function, file, line)."""
    programs, frames = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            dumps = programs.setdefault(line[3:], [])
        elif not line.startswith(" "):
            frames = []
            dumps.append((line.split("pid=")[1].split()[0], frames))
        else:
            line = re.sub(r"   \[file offset .*", "", line)
            line = re.sub(r" \(discriminator \d+\)$", "", line)
            bare = re.match(r"  u\d\d 0x[0-9a-f]+ (\S+)\+0x([0-9a-f]+)$", line)
            full = re.match(r"  u\d\d (\S+) off=0x([0-9a-f]+) vaddr=\S+ (.*) (\S+):(\d+|\?)$", line)
            if not bare and not full:
                fail(f"{path}: {line}")
            frames.append(full.groups() if full else (bare[1], bare[2], None, None, None))
    return programs


def check_frame(where, got, expected):
    module, off, function, file, number = expected
    match, names = got
    if not match or os.path.basename(match[2]) != os.path.basename(module) or match[3] != off:
        fail(f"{where}: {match and match[0]}, expected {expected}")
    if function is None:
        if match[7] != f"(ELF not found: {match[2]})":
            fail(f"{where}: {match[0]}: a file of this machine named it")
        return
    # Where a lambda has no linkage name addr2line prints the function that it is inlined into.
    if names and ALIASES.get(names[0]) == function:
        names = [function]
    if function not in names or (function != names[0] and "{lambda" not in names[-1]):
        fail(f"{where}: {names}, expected {function}")
    # binutils 2.40 calls code of a header by the unit's file; readelf, eu-addr2line and LLVM do not.
    files = [file, "common.h"] if function in ("trigger_raw", "trigger_libc") else [file]
    if number == "?":
        files += ["??"]  # without a line addr2line names the object file that the symbol came from
    if os.path.basename(match[5]) not in files or match[6] != number:
        fail(f"{where}: {match[5]}:{match[6]}, expected {file}:{number}")


def check_samples(folder, symbols):
    n = 0
    for program, dumps in expected_of(folder / "expected-addr2line.txt").items():
        args = [folder / f"log/{program}.dmesg", "--maps", folder / f"maps/{program}.maps",
                "--symbols", symbols]
        got = dumps_of(resolve(*args).stdout)
        if len(got) != len(dumps):
            fail(f"{folder.name} {program}: {len(got)} dumps, expected {len(dumps)}")
        for i, ((head, frames), (pid, expected)) in enumerate(zip(got, dumps)):
            where = f"{folder.name} {program}, dump {i}"
            if f"pid={pid} " not in head or len(frames) != len(expected):
                fail(f"{where}: {head}, {len(frames)} frames, expected {len(expected)}")
            for frame, row in zip(frames, expected):
                check_frame(where, frame, row)
                n += 1
        # As the script before us is called.
        script = resolve("--log", args[0], "--pid", dumps[0][0], "--maps", args[2], "--sym-root",
                         symbols, "--addr2line", "/nowhere").stdout
        if [[f[0] and f[0][0] for f in d[1]] for d in dumps_of(script)] != \
           [[f[0] and f[0][0] for f in d[1]] for d in got]:
            fail(f"{folder.name} {program}: --log prints other frames")
    return n


def check_pac(folder, symbols):
    """Both kernels print the same program: with the signatures in its addresses, and without."""
    run = resolve(folder / "u_pac.dmesg", "--maps", folder / "u_pac.maps", "--symbols", symbols)
    wanted = ["trigger_raw", "app_inner", "work_inner", "work_inner", "work_inner", "work_run", "app_outer",
              "main", None, None, "_start"]
    lld = [n.replace("work_run", "work_run_lld").replace("app_outer", "app_outer_lld") if n else n for n in wanted]
    names = [[f[1][0] if f[1] else None for f in d[1]] for d in dumps_of(run.stdout)]
    if names != [wanted, lld]:
        fail(f"{folder.name}: {names}")


def check_threads(folder, symbols):
    """Four threads, mixed line by line: each stack is one that such a thread can have."""
    run = resolve(folder / "log/u_mt.dmesg", "--maps", folder / "maps/u_mt.maps", "--symbols", symbols)
    for head, frames in dumps_of(run.stdout):
        names = [f[1][0] for f in frames if f[1]]
        if "binder_ioctl" in head and names[:4] != ["work_inner"] * 3 + ["work_run"]:
            fail(f"{folder.name} u_mt: {head}: {names}")
    log = (folder / "log/u_mt.dmesg").read_text()
    if run.stdout.count(" comm=u_mt ") != log.count("comm=u_mt"):
        fail(f"{folder.name} u_mt: dumps are lost")


def check_others(folder):
    """Without the tag, with priorities, three processes in one log: the maps of each."""
    args = ["--symbols", folder.parent / "amd64/symbols"]
    args += [a for pid, n in ((128, 1), (129, 2), (130, 3)) for a in ("--maps", f"{pid}={folder}/maps/multi_{n}.maps")]
    plain, raw = (resolve(folder / f"log/multi.{e}", *args).stdout for e in ("dmesg", "raw"))
    frames = [[f[0] and f[0][0] for f in d[1]] for d in dumps_of(raw)]
    if not frames or frames != [[f[0] and f[0][0] for f in d[1]] for d in dumps_of(plain)]:
        fail("multi.raw and multi.dmesg differ")
    if any(f is None for d in frames for f in d):
        fail(f"multi: a frame has no mapping in its own process: {frames}")
    one = dumps_of(resolve(folder / "log/multi.raw", *args, "--pid", "129").stdout)
    if not one or any("pid=129 " not in head for head, _ in one):
        fail("--pid 129 shows others")
    # A kprobe: a trampoline without a symbol, and a value that is no address.
    kprobe = resolve(folder / "log/kprobe_cat.dmesg", "--maps", folder / "maps/u_static.maps").stdout
    if "0xffffffffc05f90c8\n" not in kprobe or "0x485300656d616e74 <no mapping>" in kprobe.split("ends here")[-1]:
        fail(f"kprobe_cat: {kprobe}")
    if "# the stack ends here: this is no address of code" not in kprobe:
        fail(f"kprobe_cat: its garbage is not said: {kprobe}")


def check_refusals(folder):
    log, maps = folder / "log/u_fp.dmesg", folder / "maps/u_fp.maps"
    run = resolve("--log", log, "--pid", "4", "--maps", maps, "--sym-root", folder, status=1)
    if "no user stack of pid 4 in its" not in run.stderr:
        fail(f"no such pid: {run.stderr}")
    pathlib.Path("no.maps").write_text("1000-2000 r--p 00000000 00:00 0 /x\n")
    run = resolve(log, "--maps", "no.maps", status=1)
    if "no executable mapping" not in run.stderr:
        fail(f"maps without code: {run.stderr}")
    run = resolve(log, "--maps", f"7={maps}", status=1)
    if "--maps has none for any of its" not in run.stderr:
        fail(f"maps of another process: {run.stderr}")
    pathlib.Path("empty.log").write_text("[    0.000000] Linux version 6.1\n[    0.000001] nothing\n")
    run = resolve("empty.log", status=1)
    if "no stack dump in its 2 lines" not in run.stderr:
        fail(f"no dump: {run.stderr}")


with tarfile.open(DATA) as archive:
    archive.extractall("samples")
root = pathlib.Path("samples")
count = sum(check_samples(root / name, root / cpu / "symbols")
            for name, cpu in (("amd64", "amd64"), ("arm64", "arm64"), ("arm64-6.12", "arm64")))
for name in ("pac-arm64", "pac-arm64-bpo"):
    check_pac(root / name, root / "arm64/symbols")
for name, cpu in (("amd64", "amd64"), ("arm64", "arm64"), ("arm64-6.12", "arm64")):
    check_threads(root / name, root / cpu / "symbols")
check_others(root / "amd64")
check_refusals(root / "amd64")
print(f"{count} frames as addr2line has them")
