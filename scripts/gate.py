#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gate, `./run test`: builds the tree in each way that counts and runs every test in it.

The plain gate has three builds: gcc as a user builds it, clang with AddressSanitizer and
UndefinedBehaviorSanitizer, and the unwinder alone with musl. --full adds the other compilers and
sanitizers, the guest CPUs, minutes of fuzzing and the reports of the static analysers. Names of
parts behind it run these alone: the builds' folders without "build-", fuzz, packages and
analysers.

A few tests that watch live programs may fail for what else the machine does. Each of them runs once
more, alone: what fails again has failed, and what passes is listed with its first output.

The last line counts the cases of all parts: N passed, N failed, N skipped.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN_LINES = 60  # of a failed test's output
FUZZ_SECONDS = 20  # a target, in --full
LAST_LINES = 8  # of it, shown once more at the end
LONGEST = 20  # tests that are listed at the end
AGAIN = 3  # tests of a build that may run once more; where more fail, it is not the machine
LIVE = ("e2e", "browser", "guest")  # suites whose tests watch live programs

TESTED = ["-Dtests=enabled", "-Dwerror=true"]
ASAN = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
TSAN = ["-Db_sanitize=thread", "-Db_lundef=false"]
PLAIN = ["unit", "golden", "e2e", "browser", "style"]  # corpora say more with sanitizers


class Build:
    """One way to build the tree, the suites that run in it, and those that cannot, with reasons."""

    def __init__(self, folder, title, suites, options=(), cc=None, cross=None, slower=1, skip=None,
                 musl=False, linker=None):
        self.folder, self.title, self.suites, self.slower = ROOT / folder, title, suites, slower
        self.cc, self.cross, self.skip, self.musl = cc, cross, skip or {}, musl
        self.linker, self.options = linker, TESTED + list(options)


LONG = {"e2e-long": "they take long: ./run test --full"}
TRIED = {"unit-doctor-report": "it tries what the build of gcc tries, for two minutes: ./run test --full"}
WIDE = {"e2e-wide": "wide samples beside peers: ./run test --full"}
GATE = [
    Build("build", "gcc", PLAIN, ["-Db_sanitize=none"], cc="gcc", skip=WIDE),
    Build("build-asan", "clang, ASan and UBSan", ["unit", "golden", "fuzz", "e2e"],
          ASAN, cc="clang", linker="lld", slower=2, skip=LONG | WIDE | TRIED),
    Build("build-musl", "musl-gcc, the unwinder alone", ["unit"], ["-Dunwind_only=true"], musl=True),
]
GUEST = "qemu-user has no ptrace, and /proc shows qemu instead of the guest"
EMULATED = {suite: GUEST for suite in
            ("unit-proc", "unit-sample", "unit-snapshot-snapshot", "unit-doctor-report")}
ALONE = "it asks for a process with one thread, and qemu-user has more; it runs in the guest"
BUS = "qemu-arm 7.2 keeps raising SIGBUS at a page that was replaced"
WATCHED = "it stops and counts threads, and TSan has one of its own in every process"
COMPARED = "it looks at a thread's variable while the thread changes it, as what is tested does"
INSIDE = "a stack that runs out inside TSan's own code ends the process, whatever handles signals"
HELD = "TSan holds a thread's signals back until the thread calls something that it watches"
# UBSan's own null checks make gcc 12 take a pointer for NULL that is tested by its length.
NO_NONNULL = ["-Dc_args=-Wno-nonnull"]
FULL = [
    Build("build-gcc-asan", "gcc, ASan and UBSan", ["unit", "golden", "fuzz"], ASAN + NO_NONNULL,
          cc="gcc", slower=4),
    Build("build-clang", "clang", ["unit", "golden", "fuzz", "e2e"], cc="clang"),
    Build("build-release", "gcc, release, and in a guest", ["unit", "golden", "fuzz", "e2e", "guest"],
          ["--buildtype=release", "-Doptimization=2"], cc="gcc"),
    Build("build-debug", "clang, not optimized", ["unit", "golden"], ["--buildtype=debug"],
          cc="clang", slower=2),
    Build("build-tsan", "clang, TSan", ["unit"], TSAN, cc="clang", slower=4,
          skip={"unit-proc": WATCHED, "unit-sample": WATCHED, "unit-target-pid": WATCHED,
                "unit-snapshot-snapshot": WATCHED, "unit-snapshot-by_iterator": WATCHED,
                "unit-attach-foothold": WATCHED,
                "unit-bpf-threads_moment": COMPARED,
                "unit-unwind-thread": HELD, "unit-unwind-print": INSIDE}),
    Build("build-aarch64", "gcc for aarch64, run by qemu-user and in a guest", ["unit", "fuzz", "guest"],
          cross=("arm64", "cross/aarch64.ini"), slower=3,
          skip=EMULATED | {"unit-embed-renew": ALONE}),
    Build("build-arm", "gcc for arm, run by qemu-user", ["unit", "fuzz"],
          cross=("armhf", "cross/arm.ini"), slower=3,
          skip=EMULATED | {"unit-base-guard": BUS}),
]


class Sum:
    """What passed, failed and was skipped, over all builds."""

    def __init__(self):
        self.passed = self.failed = 0
        self.skips, self.failures, self.durations, self.parts = [], [], [], []
        self.unsteady = []

    def fail(self, title, output):
        self.failed += 1
        self.failures.append((title, output.splitlines()[-LAST_LINES:]))
        print(f"\n---- FAILED: {title}")
        print("\n".join(output.splitlines()[-SHOWN_LINES:]), flush=True)

    def take(self, build, row):
        """Counts one line of meson's log: a program that counts its own cases says how many."""
        output = row.get("stdout", "") + row.get("stderr", "")
        counts = [sum(map(int, re.findall(r"^\[  %s  \] (\d+) test" % word, output, re.M)))
                  for word in ("PASSED", "FAILED")]
        title = f"{build.title}: {row['name']}"
        self.durations.append((row.get("duration", 0), title))
        if row["result"] == "SKIP":
            reason = row.get("stdout", "").strip().splitlines() or ["it did not say why"]
            self.skips.append(f"{title}: {reason[-1]}")
        elif row["result"] in ("OK", "EXPECTEDFAIL"):
            self.passed += max(counts[0], 1)
            self.skips += [f"{title}: {line}" for line in row.get("stdout", "").splitlines()
                           if line.startswith("skipped: ")]
        else:
            self.passed += counts[0]
            self.failed += max(counts[1], 1) - 1
            self.fail(f"{title} ({row['result'].lower()})", output)

    def say_times(self):
        print(f"\n---- the {LONGEST} longest tests")
        for seconds, title in sorted(self.durations, reverse=True)[:LONGEST]:
            print(f"{seconds:6.1f} s  {title}")
        print("\n---- the parts")
        for title, built, tested in self.parts:
            print(f"built in {built:4.0f} s, tested in {tested:4.0f} s  {title}")

    def close(self):
        if self.skips:
            print("\n---- skipped")
        for line in self.skips:
            print(line)
        for title, lines in self.unsteady:
            print(f"\n---- failed beside other tests, passed alone: {title}", *lines, sep="\n")
        for title, lines in self.failures:
            print(f"\n---- FAILED: {title}", *lines, sep="\n")
        tail = f", {len(self.skips)} skipped" if self.skips else ""
        print(f"{self.passed} passed, {self.failed} failed{tail}", flush=True)
        return 1 if self.failed or not self.passed else 0


def say(text):
    print(f"\n==== {text}", flush=True)


def run(command, **more):
    """The exit status, and stdout and stderr together."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)
    return done.returncode, done.stdout


def run_idle(command, **more):
    """As run, in the time that others leave: most tests wait for something."""
    return run(["chrt", "--idle", "0", *command], **more)


def configure(build, how):
    if (build.folder / "build.ninja").exists():
        status, output = how(["meson", "configure", build.folder, *build.options])
        if status == 0:
            return status, output
    shutil.rmtree(build.folder, ignore_errors=True)
    env = dict(os.environ)
    if build.cc:
        env["CC"] = build.cc
    if build.linker:
        env["CC_LD"] = build.linker
    cross = []
    if build.cross:
        arch, machine_file = build.cross
        sysroot = ROOT / "build-sysroot" / arch
        status, output = how([ROOT / "scripts/sysroot.sh", arch, sysroot])
        if status:
            return status, output
        cross = ["--cross-file", f"{sysroot}.ini", "--cross-file", machine_file]
    if build.musl:
        folder = ROOT / "build-sysroot/musl"
        status, output = how([ROOT / "scripts/musl.sh", folder])
        if status:
            return status, output
        cross = ["--native-file", f"{folder}.ini", "--native-file", "cross/musl.ini"]
    return how(["meson", "setup", build.folder, *build.options, *cross], env=env)


def meson_test(build, env, *which):
    """The rows of meson's log; none where it left no log."""
    log = build.folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    subprocess.run(["meson", "test", "-C", build.folder, "--no-rebuild", "--timeout-multiplier",
                    str(build.slower), *which], cwd=ROOT, stdin=subprocess.DEVNULL, env=env)
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def short_name(row):
    return row["name"].rpartition(" / ")[2]


def is_failed(row):
    return row["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")


def run_again(build, rows, env, total):
    """The rows, in which a live test that failed has what it gave alone."""
    failed = [row for row in rows if is_failed(row)]
    live = [row for row in failed if short_name(row).startswith(LIVE)]
    if not live or len(failed) > AGAIN:
        return rows
    for first in live:
        say(f"{build.title}: once more, alone: {first['name']}")
        second = meson_test(build, env, short_name(first))
        if len(second) == 1 and not is_failed(second[0]):
            output = first.get("stdout", "") + first.get("stderr", "")
            total.unsteady.append((f"{build.title}: {first['name']}",
                                   output.splitlines()[-SHOWN_LINES:]))
            rows[rows.index(first)] = second[0]
    return rows


def compile_build(build, beside):
    """The exit status, the output and the seconds that it took."""
    how = run_idle if beside else run
    start = time.monotonic()
    status, output = configure(build, how)
    if not status:
        status, output = how(["ninja", "-k0", "-C", build.folder, "--quiet"])
    return status, output, time.monotonic() - start


def run_builds(builds, total):
    """Tests one build while the next one is made."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        following = None
        for number, build in enumerate(builds):
            say(f"{build.title}: build")
            status, output, seconds = following.result() if following else compile_build(build, False)
            following = (pool.submit(compile_build, builds[number + 1], True)
                         if number + 1 < len(builds) else None)
            if status:
                total.fail(f"{build.title}: build", output)
            else:
                test_build(build, seconds, total)


def test_build(build, built, total):
    start = time.monotonic()
    say(f"{build.title}: {', '.join(build.suites)} (built in {built:.0f} s)")
    suites = [word for suite in build.suites for word in ("--suite", suite)]
    suites += [word for suite in build.skip for word in ("--no-suite", suite)]
    total.skips += [f"{build.title}: {suite}: {reason}" for suite, reason in build.skip.items()]
    env = dict(os.environ, LC_ALL="C.UTF-8", CAIRN_BUILD=build.title)
    rows = meson_test(build, env, *suites)
    total.parts.append((build.title, built, time.monotonic() - start))
    if not rows:
        total.fail(f"{build.title}: meson test", "it left no log: no test was run")
        return
    for row in run_again(build, rows, env, total):
        total.take(build, row)


def fuzz_one(name):
    return run([ROOT / "run", "fuzz", name, str(FUZZ_SECONDS)])


def fuzz_all(total):
    """A target a CPU; the first one goes alone, for it configures the build."""
    names = [source.name[:-len("_fuzz.c")] for source in sorted((ROOT / "tests/fuzz").glob("*_fuzz.c"))]
    say(f"libFuzzer: {len(names)} targets, {FUZZ_SECONDS} s each")
    results = [fuzz_one(names[0])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results += pool.map(fuzz_one, names[1:])
    for name, (status, output) in zip(names, results):
        print(f"{name}: {'failed' if status else 'nothing found'}", flush=True)
        if status:
            total.fail(f"libFuzzer: {name}", output)
        else:
            total.passed += 1


def package(total):
    """Two of them, into a tree of Debian."""
    say("packages")
    status, output = run([ROOT / "tests/packages/packages.sh"])
    print(output, flush=True)
    if status == 77:
        total.skips.append(f"packages: {output.strip().splitlines()[-1]}")
        return
    total.passed += len(re.findall(r"^ok ", output, re.M))
    if status:
        total.fail("packages", output)


def analyse(_total):
    """Reports, no verdicts: clang-tidy's needs the build of the part clang."""
    say("cppcheck (a report)")
    print(run(["cppcheck", "--quiet", "--enable=warning,portability", "--inline-suppr",
               "--suppress=missingIncludeSystem", "-Iinclude", "-Isrc", "-I.", "-D_GNU_SOURCE",
               "src", "cli"])[1])
    say("clang-tidy (a report)")
    sources = sorted(str(path.relative_to(ROOT)) for folder in ("src", "cli")
                     for path in (ROOT / folder).rglob("*.c"))
    output = run(["clang-tidy", "--quiet", "-p", "build-clang", *sources])[1]
    found = re.findall(r"warning: .*\[([\w.,-]+)\]$", output, re.M)
    for check in sorted(set(found)):
        print(f"{found.count(check):5} {check}")
    report = ROOT / "build-clang" / "clang-tidy.txt"
    report.write_text(output)
    print(f"all of it: {report}", flush=True)


def part_name(build):
    return build.folder.name.partition("-")[2] or "gcc"


def wanted_parts(words, known):
    """The parts that the words name; all of them where there are no words."""
    unknown = [word for word in words if word not in known]
    if unknown:
        sys.exit(f"gate.py: there is no part {unknown[0]}; the parts are {', '.join(known)}")
    return words or known


def main():
    full = sys.argv[1:2] == ["--full"]
    builds = {part_name(build): build for build in GATE + (FULL if full else [])}
    others = {"fuzz": fuzz_all, "packages": package, "analysers": analyse} if full else {}
    parts = wanted_parts(sys.argv[1 + full:], [*builds, *others])
    if full:
        os.environ["CAIRN_FULL"] = "1"
        for build in GATE:
            build.skip = {}
    start = time.monotonic()
    total = Sum()
    run_builds([builds[part] for part in parts if part in builds], total)
    for part in parts:
        if part in others:
            others[part](total)
    total.say_times()
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    say(f"the gate took {minutes} min {seconds} s")
    return total.close()


sys.exit(main())
