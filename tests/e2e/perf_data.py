#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of perf, read by cairn and by perf script, have the same samples: threads, events, periods, addresses
in the same files. Names are perf's, or better ones.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

CAIRN, SRC, BUILD = os.environ["CAIRN"], os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, SRC + "/tests/support")
import pprof_decode  # noqa: E402

PROGRAM = [f"{BUILD}/tests/e2e/perf_data_program", f"{BUILD}/tests/e2e/libperf_data_one.so",
           f"{BUILD}/tests/e2e/libperf_data_two.so"]
FIELDS = "comm,pid,tid,time,period,event,ip,sym,dso"
failed, n_checks = [], 0


def check(holds, what):
    global n_checks
    n_checks += 1
    if not holds:
        failed.append(what)
        print(f"FAIL: {what}")
    return holds


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)


def bare(event):
    return re.sub(r":[ukhGHIpPSDWeb]*$", "", event)


def module_name(dso):
    """As both sides can be compared: perf has [unknown] and //anon, and the path of a kernel module."""
    name = os.path.basename(dso.removesuffix(" (deleted)"))
    if re.fullmatch(r".*\.ko(\.\w+)?", name):
        name = "[" + name.partition(".ko")[0].replace("-", "_") + "]"
    if name.startswith("bpf_prog_"):
        return "[bpf]"
    return "" if name in ("[unknown]", "anon", "[anon]", "[stack]", "[heap]") else name


def address_of(address, module):
    """What a broken chain of frame pointers holds in the end: a profile has no address behind 0."""
    return 0 if address == 1 and not module_name(module) else address


def theirs(data):
    """(comm, pid, tid, event, frames) -> [samples, sum of periods]; a frame is (address in its file, file)."""
    found = collections.defaultdict(lambda: [0, 0])
    names = collections.defaultdict(set)
    for _ in range(3):  # now and then it crashes
        done = run("perf", "script", "-i", data, "--no-inline", "-F", FIELDS)
        if not done.returncode:
            break
    check(not done.returncode, f"perf script: status {done.returncode}: {done.stderr[-300:]}")
    text = done.stdout
    for part in text.split("\n\n" if "\n\n" in text else "\n"):
        lines = part.lstrip("\n").splitlines()
        if not lines:
            continue
        head = re.match(r"\s*(.*?)\s+(-?\d+)/(-?\d+)\s+([\d.]+):\s+(\d+)\s+([^\s:]\S*):(?:\s+|$)(.*)", lines[0])
        if not check(head, f"perf script's line {lines[0]!r}"):
            continue
        frames, has_chain = [], not head[7]
        for line in lines[1:] + ([head[7]] if head[7] else []):
            frame = re.match(r"\s*([0-9a-f]+) (.*) \(((?:/|\[|inlined|bpf_).*)\)$", line)
            if not check(frame, f"perf script's frame {line!r}"):
                continue
            place = (address_of(int(frame[1], 16), frame[3]) if has_chain else 0, module_name(frame[3]))
            frames.append(place)
            names[place].add(frame[2].partition("+0x")[0])
        row = found[head[1], int(head[2]), int(head[3]), head[6], tuple(frames)]
        row[0] += 1
        row[1] += int(head[5])
    events = {key[3] for key in found} | set(run("perf", "evlist", "-i", data).stdout.split())
    bare_events = collections.Counter(bare(event) for event in events)
    shown = {event: bare(event) if bare_events[bare(event)] == 1 else event for event in events}
    return {key[:3] + (shown[key[3]],) + key[4:]: row for key, row in found.items()}, names


def functions_of(data, tmp):
    """(address in its file, file) -> names, of the resolved profile."""
    named = f"{tmp}/named.pb.gz"
    run(CAIRN, "resolve", data, "-o", named, "-f")
    return pprof_decode.Profile(named)


def place_of(profile, location, is_exact):
    """As perf prints it: within the file, and of a caller the return address, but where perf unwound the stack."""
    mapping, address = profile.locations[location]
    module = profile.mappings.get(mapping, {})
    path = profile.strings[module.get(5, 0)]
    name = module_name(path)
    address += not is_exact and address != 0
    address = address_of(address, path)
    if name and not path.startswith("[kernel") and not address >> 63:
        address += module.get(4, 0) - module.get(2, 0)
    return address, name


def ours(profile, has_chains, is_unwound):
    types = [profile.strings[kind] for kind in profile.types]
    found = collections.defaultdict(lambda: [0, 0])
    for sample in profile.samples:
        frames, was_kernel = [], False
        for i, location in enumerate(sample.stack):
            mapping, address = profile.locations[location]
            is_kernel = address >> 63 and mapping
            frames.append(place_of(profile, location, i == 0 or (not is_kernel and (was_kernel or is_unwound))))
            was_kernel = is_kernel
        if not has_chains:  # of those perf prints the address in the process
            frames = [(0, name) for address, name in frames]
        for kind, value in list(zip(types, sample.values))[1:]:
            if value:
                labels = sample.labels
                row = found[labels.get("thread", ""), labels["pid"], labels["tid"], kind, tuple(frames)]
                row[0] += sample.values[0]
                row[1] += value
    return found


def without_frames(rows):
    sums = collections.defaultdict(lambda: [0, 0])
    for key, (n, value) in rows.items():
        sums[key[:4]][0] += n
        sums[key[:4]][1] += value
    return dict(sums)


def compare(case, data, tmp, is_unwound=False):
    done = run(CAIRN, "convert", data, "-o", f"{tmp}/raw.pb.gz", "-f")
    if not check(done.returncode == 0, f"{case}: convert: {done.stderr}"):
        return
    perf, names = theirs(data)
    raw = pprof_decode.Profile(f"{tmp}/raw.pb.gz")
    cairn = ours(raw, any(len(key[4]) > 1 for key in perf), is_unwound)
    n = sum(row[0] for row in perf.values())
    check(n > 0, f"{case}: perf has no samples")
    if case == "group":  # perf makes a sample of each member that counted anything
        perf, cairn = ({key: [0, row[1]] for key, row in rows.items()} for rows in (perf, cairn))
        check(len({key[3] for key in cairn}) > 1, f"{case}: no member counts anything")
    a, b = without_frames(perf), without_frames(cairn)
    check(a == b, f"{case}: threads and events: only perf {[(k, v) for k, v in a.items() if b.get(k) != v][:3]}, "
          f"only cairn {[(k, v) for k, v in b.items() if a.get(k) != v][:3]}")
    return perf, cairn, names, n


def record(case, tmp, options, command=tuple(PROGRAM)):
    data = f"{tmp}/{case}.data"
    if case == "pipe":
        with open(data, "wb") as out:
            done = subprocess.run(["perf", "record", "-q", "-o", "-", *options, *command], stdout=out,
                                  stderr=subprocess.PIPE, text=True, check=False)
    else:
        done = run("perf", "record", "-q", "-o", data, *options, *command)
    if done.returncode or not os.path.exists(data):
        print(f"skipped: {case}: perf cannot record: {done.stderr.strip()[-200:]}")
        return None
    return data


def own_processes(perf):
    """The program's and the idle thread. Of others that run beside, what perf says depends on what they are: it names
    code of interpreters after its perf-PID.map, and keeps mappings of the program that execve(2) ended.
    """
    return {key[1] for key in perf if key[0].startswith("perf_data_progr")} | {0}


def same_stacks(case, perf, cairn):
    """Where a broken chain holds a number that looks like a marker, perf drops all of it."""
    differ = [(key, row, cairn.get(key)) for key, row in perf.items() if cairn.get(key) != row and key[4]]
    check(not differ, f"{case}: {len(differ)} of {len(perf)} stacks differ, such as {differ[:1]}, cairn has "
          f"{[key for key in cairn if differ and key[:4] == differ[0][0][:4] and key not in perf][:1]}")


def same_walks(case, data, tmp):
    """Copied stacks, walked by both: where perf comes to code that starts programs or threads, cairn has the same
    frames. Now and then perf goes astray.
    """
    compared = compare(case, data, tmp, is_unwound=True)
    if not compared:
        return
    perf, cairn, names, n = compared
    n_whole = missing = 0
    for key, row in perf.items():
        if key[4] and names[key[4][-1]] & {"_start", "clone3", "__clone3"}:
            n_whole += row[0]
            differ = max(0, row[0] - cairn.get(key, [0])[0])
            missing += differ
            if differ:
                print(f"    {case}: perf {key}, cairn {[k for k in cairn if k[:4] == key[:4] and k not in perf]}")
    missing = max(0, missing - 1)  # perf may go astray and come to a root all the same
    report = run(CAIRN, "report", data).stdout
    whole = re.search(r"([\d,]+) whole \(([\d.]+) %\)", report)
    check(n_whole and missing * 50 <= n_whole, f"{case}: {missing} of {n_whole} stacks are not those of perf")
    check(whole and float(whole[2]) > 90, f"{case}: {report[-300:]}")
    print(f"{case}: {n} samples, {n_whole} of perf are whole, {missing} others, {whole and whole[2]} % whole")


class Symbols:
    """What nm reads of a file and of its debug file, or the kernel's own list: addresses of a name, by bare_name()."""

    def __init__(self, path):
        self.addresses = collections.defaultdict(set)
        self.loads, self.plt = [], []
        if path.startswith("["):
            self.add(pathlib.Path("/proc/kallsyms").read_text(errors="replace"))
        elif os.path.exists(path):
            note = re.search(r"Build ID: (\w\w)(\w+)", run("readelf", "-n", path).stdout)
            for file in (path, f"/usr/lib/debug/.build-id/{note[1]}/{note[2]}.debug") if note else (path,):
                self.add("".join(run("nm", *options, file).stdout for options in ((), ("-D",), ("-C",), ("-DC",))))
            for line in run("readelf", "-lW", path).stdout.splitlines():
                if line.split()[:1] == ["LOAD"]:
                    self.loads.append([int(word, 16) for word in line.split()[1:5]])
            for section in re.finditer(r"\] (\.plt\S*) +PROGBITS +(\w+) \w+ (\w+)", run("readelf", "-SW", path).stdout):
                self.plt.append((section[1], int(section[2], 16), int(section[3], 16)))

    def add(self, text):
        for line in text.splitlines():
            symbol = re.match(r"([0-9a-f]+) [a-zA-Z] ([^\t]+)", line)
            if symbol:
                self.addresses[bare_name(symbol[2])].add(int(symbol[1], 16))

    def vaddr_of(self, off):
        return next((off - start + vaddr for start, vaddr, _, size in self.loads if start <= off < start + size), off)

    def is_plt(self, name, vaddr):
        return any(name == plt and start <= vaddr < start + size for plt, start, size in self.plt)

    def of(self, names):
        return set().union(*(self.addresses.get(bare_name(name), set()) for name in names))


def is_same_function(symbols, wanted, got, off, is_exact):
    """perf has another name of the same function; or it looks up a return address itself, at which another function
    begins; or it has the function before a table of jumps to libraries, for which cairn has the table's name. A template
    function's name has its return type, which perf leaves out.
    """
    if any(bare_name(b) == bare_name(a) or bare_name(b).endswith(" " + bare_name(a)) for a in wanted for b in got):
        return True
    if got and symbols.of(wanted) & symbols.of(got[-1:]):
        return True
    vaddr = symbols.vaddr_of(off)
    return bool(got) and symbols.is_plt(got[-1], vaddr - (not is_exact)) or \
        not is_exact and vaddr in symbols.of(wanted)


def same_names(case, data, tmp, names, pids):
    """Where perf has a name, cairn has that one, or another of the same function. `pids`: of these alone, or None."""
    profile = functions_of(data, tmp)
    symbols = {}
    n = n_gone = 0
    wrong = []
    for sample in profile.samples:
        for i, location in enumerate(sample.stack if pids is None or sample.labels["pid"] in pids else []):
            if i and profile.locations[location][1] >> 63 == 0 and profile.locations[sample.stack[i - 1]][1] >> 63:
                continue  # exact, though a caller
            off, name = place_of(profile, location, i == 0)
            wanted = names.get((off, name), set()) - {"[unknown]"}
            got = profile.functions_at(location)
            module = profile.mappings.get(profile.locations[location][0], {})
            path = profile.strings[module.get(5, 0)]
            n += bool(wanted)
            if not wanted or any(bare_name(a) == bare_name(b) for a in wanted for b in got):
                continue
            if path not in symbols:
                symbols[path] = Symbols(path)
            if not got and path.startswith("/") and not os.path.exists(path):  # a file of somebody else that is gone
                n_gone += 1
            elif not is_same_function(symbols[path], wanted, got, off, i == 0):
                wrong.append((wanted, got, hex(off), path))
    check(n and not wrong, f"{case}: {len(wrong)} of {n} names are others: {wrong[:5]}")
    return n, n_gone


def bare_name(name):
    name = re.sub(r"\.(isra|constprop|part|cold)\b.*", "", name)
    return re.sub(r"\(.*", "", name).split("@")[0].strip("_")


def moved_files(tmp):
    """Copied stacks whose program is elsewhere by now: --symbols leads to it, for the walk and for names."""
    os.makedirs(f"{tmp}/there", exist_ok=True)
    program = f"{tmp}/moved_program"
    shutil.copy(PROGRAM[0], program)
    data = record("moved", tmp, ["-F", "499", "--call-graph", "dwarf", "--buildid-mmap"], (program, *PROGRAM[1:]))
    if not data:
        return
    os.rename(program, f"{tmp}/there/moved_program")
    for options, wanted in (((), False), (("--symbols", f"{tmp}/there"), True)):
        done = run(CAIRN, "resolve", data, "-o", f"{tmp}/moved.pb.gz", "-f", *options)
        tree = run(CAIRN, "report", "--callers=spin", f"{tmp}/moved.pb.gz").stdout
        check(done.returncode == 0 and ("in_thread" in tree) == wanted, f"moved {options}: {done.stderr} {tree}")


def other_host(tmp):
    """A recording of a host with another name: a path without a build ID leads to no file of this machine."""
    data = record("host", tmp, ["-F", "499", "-g", "--no-buildid"])
    if not data:
        return
    here = run(CAIRN, "report", data).stdout
    bytes_ = pathlib.Path(data).read_bytes()
    name = os.uname().nodename.encode()
    places = [m.start() for m in re.finditer(re.escape(name) + b"\0", bytes_)]
    check(places, f"no host name in the recording")
    other = bytes([name[0] ^ 1]) + name[1:]
    pathlib.Path(data).write_bytes(bytes_.replace(name + b"\0", other + b"\0"))
    there = run(CAIRN, "report", data).stdout
    check("spin" in here and "spin" not in there, f"names of another host: {here} {there}")


def main():
    tmp = os.getcwd()
    if not pathlib.Path("/usr/bin/perf").exists():
        print("skipped: perf is missing")
        return 77
    first = record("fp", tmp, ["-F", "499", "-g"])
    if not first:
        return 77
    cases = {
        "fp": ["-F", "499", "-g"],
        "no_stacks": ["-F", "499"],
        "period": ["-c", "1000000", "-e", "task-clock", "-g"],
        "events": ["-F", "299", "-e", "cpu-clock,page-faults,context-switches", "-g"],
        "group": ["-F", "499", "-e", "{cpu-clock,page-faults,context-switches}:S", "-g"],
        "modes": ["-F", "499", "-e", "cpu-clock:u", "-e", "cpu-clock:k", "-g"],
        "build_ids": ["-F", "499", "-g", "--buildid-mmap"],
        "pipe": ["-F", "499", "-g"],
        "zstd": ["-z", "-F", "1999", "-g"],
        "fields": ["-F", "499", "-g", "-W", "--phys-data", "--sample-cpu", "-T", "--data-page-size",
                   "--code-page-size"],
        "everything": ["-a", "-F", "299", "-g"],
        "threads": ["-a", "-F", "299", "-g", "--threads"],
    }
    for case, options in cases.items():
        data = record(case, tmp, options)
        compared = compare(case, data, tmp) if data else None
        if compared:
            perf, cairn, names, n = compared
            pids = own_processes(perf) if "-a" in options else None
            same_stacks(case, {key: row for key, row in perf.items() if pids is None or key[1] in pids}, cairn)
            n_names, n_gone = same_names(case, data, tmp, names, pids) if "-g" in options else (0, 0)
            print(f"{case}: {n} samples, {len(perf)} stacks, {n_names} names, {n_gone} of files that are gone")
    data = record("copies", tmp, ["-F", "499", "--call-graph", "dwarf"])
    if data:
        same_walks("copies", data, tmp)
    data = record("short_copies", tmp, ["-F", "499", "--call-graph", "dwarf,128"])
    if data:
        report = run(CAIRN, "report", data).stdout
        check("stack larger than the copied 0.128 kB" in report, f"short copies: {report[-300:]}")
    moved_files(tmp)
    other_host(tmp)
    print(f"{n_checks} checks of recordings of perf, {len(failed)} failed")
    return bool(failed)


sys.exit(main())
