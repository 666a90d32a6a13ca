#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters of recordings of perf: each leaves the samples that the text of perf script, counted by other rules, says.

The program has threads of fixed names and a child process. The same samples are asked of perf.data, of the text of
perf script, and of a pprof profile that kept times and CPUs.
"""
import collections
import gzip
import json
import os
import re
import subprocess
import time

import checks
from checks import check, run

CAIRN, BUILD = os.environ["CAIRN"], os.environ["BUILD"]
PROGRAM = f"{BUILD}/tests/e2e/filters_program"
HEAD = re.compile(r"^\s*(?P<comm>\S.*?)\s+(?P<pid>\d+)/(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+"
                  r"(?P<period>\d+)\s+(?P<event>\S+?):")
Sample = collections.namedtuple("Sample", "comm pid tid cpu ns period event process")


def record(name, *options):
    # -N -B: no cache of build IDs; some versions of perf end in it.
    done = subprocess.run(["perf", "record", "-q", "-N", "-B", "-F", "997", "-g", "-o", name, *options, PROGRAM],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode or not os.path.exists(name):
        checks.skip(f"perf cannot record: {done.stderr.strip()[-200:]}")


def truth(data):
    """perf's samples, with the name of the process: that of its first thread at that moment."""
    text = run("perf", "script", "-i", data, "--ns", "-F", "comm,pid,tid,cpu,time,period,event").stdout
    samples = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if not check_line(head, line):
            continue
        samples.append(Sample(head["comm"], int(head["pid"]), int(head["tid"]), int(head["cpu"]),
                              int(head["s"]) * 10**9 + int(head["ns"]), int(head["period"]),
                              head["event"].split(":")[0], None))
    samples.sort(key=lambda sample: sample.ns)
    names = {}
    for i, sample in enumerate(samples):
        if sample.pid == sample.tid:
            names[sample.pid] = sample.comm
        samples[i] = sample._replace(process=names.get(sample.pid, "filters_program"))
    return samples


def check_line(head, line):
    if line.strip():
        check(head, f"perf script's line {line!r}")
    return head


def report(path, *options, status=0):
    done = run(CAIRN, "report", "--json", "--top", "1", *options, path, status=status)
    return json.loads(done.stdout) if status == 0 else done.stderr


def held(path, samples, options, keeps):
    """The filter leaves as many samples as the predicate, with the same sum of the event; and says so."""
    kept = [sample for sample in samples if keeps(sample)]
    event = "page-faults" if "page-faults" in options else "cpu-clock"
    found = report(path, "--value", event, *options)
    where = f"{path} {' '.join(options)}"
    check(found["quality"]["samples"] == len(kept), f"{where}: {found['quality']['samples']} samples, "
          f"expected {len(kept)} of {len(samples)}")
    check(found["quality"]["samples_read"] == len(samples), f"{where}: read {found['quality']['samples_read']}")
    taken = sum(step["samples_taken_out"] for step in found["filters"])
    check(taken == len(samples) - len(kept), f"{where}: {taken} taken out, {len(samples) - len(kept)} expected")
    wanted = sum(sample.period for sample in kept if sample.event == event)
    check(found["sum"] == wanted, f"{where}: {event} {found['sum']}, expected {wanted}")
    wanted = sum(sample.period for sample in samples if sample.event == event) - wanted
    taken = sum(step["value_taken_out"] for step in found["filters"])
    check(taken == wanted, f"{where}: {event} {taken} taken out, expected {wanted}")


def cases(samples, start):
    """Options and the predicate that they stand for."""
    pids = sorted({sample.pid for sample in samples})
    alpha = next(sample.tid for sample in samples if sample.comm == "alpha-1")
    cpu = samples[0].cpu

    def since(sample):
        return (sample.ns - start) / 1e9

    yield ["--pid", str(pids[0])], lambda s: s.pid == pids[0]
    yield ["--exclude-pid", f"1-{pids[0]}"], lambda s: s.pid > pids[0]
    yield ["--tid", f"{alpha},{pids[-1]}"], lambda s: s.tid in (alpha, pids[-1])
    yield ["--exclude-tid", str(alpha)], lambda s: s.tid != alpha
    yield ["--thread", "^alpha"], lambda s: s.comm.startswith("alpha")
    yield ["--thread", "alpha-2", "--thread", "^b"], lambda s: s.comm in ("alpha-2", "beta")
    yield ["--exclude-thread", "-[12]$"], lambda s: not s.comm.startswith("alpha")
    yield ["--cpu", str(cpu)], lambda s: s.cpu == cpu
    yield ["--exclude-cpu", f"{cpu}-{cpu}"], lambda s: s.cpu != cpu
    yield ["--event", "page-faults"], lambda s: s.event == "page-faults"
    yield ["--exclude-event", "page-faults"], lambda s: s.event != "page-faults"
    yield ["--time", "0.2-0.6"], lambda s: 0.2 <= since(s) < 0.6
    yield ["--time", "-100ms", "--time", "0.9-"], lambda s: since(s) < 0.1 or since(s) >= 0.9
    yield ["--exclude-time", "0.5-1"], lambda s: not 0.5 <= since(s) < 1
    yield (["--thread", "alpha", "--exclude-thread", "1$", "--event", "cpu-clock", "--time", "0.3-0.7",
            "--exclude-pid", str(pids[-1])],
           lambda s: s.comm == "alpha-2" and s.event == "cpu-clock" and 0.3 <= since(s) < 0.7 and s.pid != pids[-1])


def processes():
    yield ["--process", "^child$"], lambda s: s.process == "child"
    yield ["--exclude-process", "child"], lambda s: s.process != "child"


def time_files(samples, shift, clock):
    """A filter file of simpleperf by that clock: windows of all, of a process, of a thread."""
    start, end = samples[0].ns, samples[-1].ns
    third = (end - start) // 3
    alpha = next(sample.tid for sample in samples if sample.comm == "alpha-1")
    pid = samples[0].pid
    with open("windows", "w", encoding="utf-8") as file:
        file.write(f"CLOCK {clock}\nGLOBAL_BEGIN {start + shift}\nGLOBAL_END {end - third + shift}\n"
                   f"PROCESS_BEGIN {pid} {start + third // 4 + shift}\n")
    yield ["--time-file", "windows"], (lambda s: s.ns < end - third and s.pid == pid and s.ns >= start + third // 4)
    with open("thread", "w", encoding="utf-8") as file:
        file.write(f"CLOCK {clock}\nTHREAD_BEGIN {alpha} {start + third // 5 + shift}\n"
                   f"THREAD_END {alpha} {start + third // 2 + shift}\n")
    yield (["--time-file", "thread"],
           lambda s: s.tid == alpha and start + third // 5 <= s.ns < start + third // 2)


def own_clock():
    """perf's usual clock counts from when the machine started."""
    record("plain.data", "-e", "cpu-clock,page-faults", "--sample-cpu")
    samples = truth("plain.data")
    check(len(samples) > 100, f"only {len(samples)} samples")
    check(len({sample.comm for sample in samples}) >= 4, f"names {({sample.comm for sample in samples})}")
    start = samples[0].ns
    with open("plain.perf", "w", encoding="utf-8") as file:
        file.write(run("perf", "script", "-i", "plain.data", "--ns", "-F",
                       "comm,pid,tid,cpu,time,period,event,ip,sym,dso").stdout)
    # Filters that drop nothing make convert keep times and CPUs.
    run(CAIRN, "convert", "plain.data", "--time", "0-", "--exclude-cpu", "9999", "-o", "plain.pb.gz")
    for options, keeps in [*cases(samples, start), *time_files(samples, 0, "monotonic")]:
        for path in ("plain.data", "plain.perf", "plain.pb.gz"):
            held(path, samples, options, keeps)
    for options, keeps in processes():
        held("plain.data", samples, options, keeps)
    said = report("plain.perf", "--process", "x", status=1)
    check("plain.perf: --process: no sample has the name of a process" in said, f"perf script has no processes: {said}")
    said = report("plain.data", "--time", "12:00-12:01", status=1)
    check("--time: the samples' times are not clock times" in said, f"no clock times: {said}")
    with open("realtime", "w", encoding="utf-8") as file:
        file.write("CLOCK realtime\nGLOBAL_BEGIN 1\n")
    said = report("plain.data", "--time-file", "realtime", status=1)
    check("its times are of the clock realtime" in said, f"another clock: {said}")
    return samples


def changes(samples):
    """What changes threads keeps all samples; a pprof profile shows the new ones."""
    alpha = sum(sample.comm.startswith("alpha") for sample in samples)
    for options, changed in ((["--merge-threads", "^alpha"], alpha), (["--per-cpu"], len(samples))):
        found = report("plain.data", *options)
        check(found["quality"]["samples"] == len(samples), f"{options}: {found['quality']['samples']} samples")
        check(found["filters"][0]["samples_changed"] == changed, f"{options}: {found['filters']}, {changed} expected")
    run(CAIRN, "convert", "plain.data", "--merge-threads", "^alpha", "-o", "merged.pb.gz")
    found = report("merged.pb.gz", "--thread", "alpha$")
    check(found["quality"]["samples"] == alpha, f"merged: {found['quality']['samples']}, expected {alpha}")
    run(CAIRN, "convert", "plain.data", "--per-cpu", "-o", "cpus.pb.gz")
    for cpu in {sample.cpu for sample in samples}:
        wanted = sum(sample.cpu == cpu for sample in samples)
        found = report("cpus.pb.gz", "--thread", f"^CPU {cpu}$")
        check(found["quality"]["samples"] == wanted, f"CPU {cpu}: {found['quality']['samples']}, expected {wanted}")


def wall_clock():
    """With a clock that the file places in time, samples have clock times."""
    record("mono.data", "-k", "mono", "-e", "cpu-clock", "--sample-cpu")
    shift = time.time_ns() - time.monotonic_ns()
    samples = truth("mono.data")
    run(CAIRN, "convert", "mono.data", "--info")
    info = run(CAIRN, "convert", "mono.data", "--time", "0-", "--info").stdout
    found = re.search(r"recorder's clock \+ (\d+) ns", info)
    if not check_line(found, "sample times: recorder's clock + N ns in " + info):
        return
    check(abs(int(found[1]) - shift) < 50_000_000, f"the clocks are {found[1]} ns apart, expected {shift}")
    shift = int(found[1])
    middle = (samples[0].ns + samples[-1].ns) // 2 + shift
    clock = time.strftime("%H:%M:%S", time.localtime(middle // 10**9)) + f".{middle % 10**9:09d}"
    date = time.strftime("%Y-%m-%dT", time.localtime(middle // 10**9))
    for options, keeps in [(["--time", f"{clock}-"], lambda s: s.ns + shift >= middle),
                           (["--exclude-time", f"{date}{clock}-"], lambda s: s.ns + shift < middle),
                           *time_files(samples, shift, "realtime"), *time_files(samples, 0, "monotonic")]:
        kept = sum(map(keeps, samples))
        got = report("mono.data", *options)["quality"]["samples"]
        check(got == kept, f"mono.data {options}: {got} samples, expected {kept}")


def viewers(samples):
    """The Firefox Profiler's file has perf's times, not made up ones."""
    run(CAIRN, "convert", "plain.data", "-o", "plain.firefox.json.gz")
    with gzip.open("plain.firefox.json.gz") as file:
        profile = json.load(file)
    start = samples[0].ns
    found, wanted = collections.defaultdict(list), collections.defaultdict(list)
    for thread in profile["threads"]:
        tid, _, value = str(thread["tid"]).partition(" ")
        at = 0
        for delta in thread["samples"]["timeDeltas"] if value == "samples" else []:
            at += delta
            found[int(tid)].append(at)
    for sample in samples:
        wanted[sample.tid].append((sample.ns - start) / 1e6)
    check(set(found) == set(wanted), f"threads {set(found)}, expected {set(wanted)}")
    for tid, times in wanted.items():
        got = found.get(tid, [])
        check(len(got) == len(times) and all(abs(a - b) < 0.01 for a, b in zip(got, times)),
              f"times of {tid}: {got[:3]}, expected {times[:3]}")


def last_lines(samples):
    """Each command says at its end what was taken out."""
    n, beta = len(samples), sum(sample.comm == "beta" for sample in samples)
    wanted = f"filters: --thread took out {n - beta:,} of {n:,} samples"
    out = run(CAIRN, "report", "plain.data", "--thread", "^beta$").stdout
    check(out.splitlines()[-1].startswith(wanted), f"report: {out.splitlines()[-1]}")
    for words in (["convert", "plain.data", "-o", "b.collapsed"], ["flame", "plain.data", "-o", "b.svg"]):
        said = run(CAIRN, *words, "--thread", "^beta$").stderr.splitlines()[-1]
        check(said.startswith(f"cairn: {wanted}"), f"{words[0]}: {said}")
    out = run(CAIRN, "diff", "plain.data", "plain.pb.gz", "--thread", "^beta$").stdout.splitlines()
    check(out[-2].startswith(f"before: {wanted}") and out[-1].startswith(f"now: {wanted}"), f"diff: {out[-2:]}")
    both = json.loads(run(CAIRN, "diff", "plain.data", "plain.pb.gz", "--json", "--thread", "^beta$").stdout)
    for side in ("old", "new"):
        check((both[side]["samples_read"], both[side]["samples"]) == (n, beta), f"diff: {side} {both[side]}")


def main():
    if subprocess.run(["sh", "-c", "command -v perf"], stdout=subprocess.DEVNULL, check=False).returncode:
        checks.skip("perf is missing")
    samples = own_clock()
    changes(samples)
    wall_clock()
    viewers(samples)
    last_lines(samples)
    checks.finish(f"filters of {len(samples)} samples of perf")


main()
