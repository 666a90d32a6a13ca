#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `cairn flame` writes into a page, held against the profile that was drawn, by a reader of its own:
sums, samples with labels and times, both sides of a comparison, and that no name leaves its place."""
import collections
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import time

from page_columns import Page
from pprof_encode import message, number, packed, text

CAIRN = os.environ["CAIRN"]
WORK = pathlib.Path(os.environ["WORK"])
failures = []


def check(name, got, wanted):
    if got != wanted:
        failures.append(name)
        print(f"FAILED: {name}\n  got    {str(got)[:2000]}\n  wanted {str(wanted)[:2000]}")


def run(*arguments, status=0):
    done = subprocess.run([CAIRN, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != status:
        sys.exit(f"FAILED: cairn {arguments}: {done.returncode}: {done.stderr}")
    return done


def draw(name, *arguments):
    out = WORK / f"{name}.html"
    run("flame", *arguments, "-o", out, "--force")
    return Page(out)


# A profile that we made ------------------------------------------------------------------------

TYPES = (("samples", "count"), ("cpu", "nanoseconds"))
START = 1_700_000_000_000_000_000
FILES = ["/src/main.cc", "/src/table.cc", ""]
MODULES = [("/opt/app/server", "aa" * 20), ("/usr/lib/libc.so.6", "bb" * 20)]


class Maker:
    """Samples with stacks that have inlined frames; knows what a page must say of them."""

    def __init__(self, seed, n, labelled=True, first=START):
        self.random, self.samples = random.Random(seed), []
        for _ in range(n):
            at = first + self.random.randrange(10**10) // 1000 * 1000
            labels = self.labels(at) if labelled else []
            period = 10_000_000
            count = self.random.randint(1, 3)
            self.samples.append((self.stack(), labels, [count, count * period]))

    def stack(self):
        """Root first: each a tuple of (function, file, line), outermost first, and a module."""
        below, stack = "main", []
        for _ in range(self.random.randint(1, 9)):
            k = self.random.randrange(12)
            frame = [(below, FILES[len(below) % 3], 10 + k)]
            if k % 4 == 0:
                frame.append((f"ns::inl{k % 3}<int>(int)", FILES[k % 2], 70 + k))
            stack.append((tuple(frame), k % 2))
            below = f"f{self.random.randrange(7)}" if self.random.random() < 0.7 else below
        return tuple(stack)

    def labels(self, at):
        labels = [("thread", self.random.choice(["main", "pool", "</script>\u2028"]), None),
                  ("tid", self.random.choice([7, 1 << 40, -3]), None)]
        return labels + ([("cairn.time_ns", at, "nanoseconds")] if self.random.random() < 0.9 else [])

    def encode(self):
        strings, functions, locations, out = {"": 0}, {}, {}, b""

        def index(value):
            return strings.setdefault(value, len(strings))

        for kind, unit in TYPES:
            out += message(1, number(1, index(kind)), number(2, index(unit)))
        for stack, labels, values in self.samples:
            ids = [locations.setdefault(frame, len(locations) + 1) for frame in reversed(stack)]
            extra = b""
            for key, value, unit in labels:
                parts = [number(1, index(key))]
                parts.append(number(2, index(value)) if isinstance(value, str) else number(3, value))
                if unit:
                    parts.append(number(4, index(unit)))
                extra += message(3, *parts)
            out += message(2, packed(1, *ids), packed(2, *values), extra)
        for k, (path, build) in enumerate(MODULES):
            out += message(3, number(1, k + 1), number(2, (k + 1) << 24), number(3, (k + 2) << 24),
                           number(5, index(path)), number(6, index(build)), number(7, 1))
        for (frame, module), own in locations.items():
            lines = b""
            for name, file, line in reversed(frame):
                known = functions.setdefault((name, file), len(functions) + 1)
                lines += message(4, number(1, known), number(2, line))
            out += message(4, number(1, own), number(2, module + 1),
                           number(3, ((module + 1) << 24) + 16 * own), lines)
        for (name, file), own in functions.items():
            out += message(5, number(1, own), number(2, index(name)), number(3, index(name)),
                           number(4, index(file)))
        out += number(9, START) + number(10, 10**10)
        return gzip.compress(out + b"".join(text(6, value) for value in strings))

    def write(self, name):
        path = WORK / f"{name}.pb.gz"
        path.write_bytes(self.encode())
        return path

    def path(self, stack):
        """As the page has it: a node for each line, outermost first."""
        return tuple((name, file, MODULES[module][0].rsplit("/", 1)[1], is_inlined)
                     for frame, module in stack
                     for is_inlined, (name, file, _) in enumerate(frame))

    def selves(self, kind):
        sums = collections.Counter()
        for stack, _, values in self.samples:
            sums[self.path(stack)] += values[kind]
        return sums


def paths_of(page):
    fields, inlined = page.fields, page.meta["kinds"].index("inlined")
    return [tuple((fields["name"][k], fields["file"][k], fields["module"][k],
                   int(fields["kind"][k] == inlined)) for k in path) for path in page.paths()]


def sums_of(page, kind, side=0):
    return collections.Counter({path: value for path, value in
                                zip(paths_of(page), page.selves(kind, side)) if value})


def safe(value):
    return value.replace("\u2028", "\\u{2028}") if isinstance(value, str) else value


def rows_of(page, side=0):
    """Each sample: path, labels, microseconds since START, values; equal ones summed."""
    first = int(page.meta["sides"][side]["first_ns"])
    paths, rows = paths_of(page), collections.Counter()
    for node, labels, time, values in page.rows(side):
        at = None if time is None else (first - START) // 1000 + time
        rows[paths[node], frozenset((key, value) for key, value, _ in labels), at] += values[0]
    return rows


def wanted_rows(maker):
    rows = collections.Counter()
    for stack, labels, values in maker.samples:
        own = frozenset((key, safe(value)) for key, value, _ in labels if key != "cairn.time_ns")
        times = [(value - START) // 1000 for key, value, _ in labels if key == "cairn.time_ns"]
        rows[maker.path(stack), own, times[0] if times else None] += values[0]
    return rows


def check_profile(name, maker, page, side=0):
    for kind, (own, _) in enumerate(TYPES):
        check(f"{name}: {own} by node", sums_of(page, kind, side), maker.selves(kind))
    if page.meta["rows"]:
        check(f"{name}: samples", rows_of(page, side), wanted_rows(maker))
        nodes = [row[0] for row in page.rows(side)]
        check(f"{name}: rows stand in the order of nodes", nodes, sorted(nodes))
        check(f"{name}: set 0", page.sets[0], [])


def check_report(name, page, path):
    """The same numbers as those of `cairn report`, for functions."""
    for kind, own in enumerate(page.meta["types"]):
        report = json.loads(run("report", "--json", "--top=0", f"--value={own['type']}", path).stdout)
        check(f"{name}: {own['type']}: sum", sum(page.selves(kind)), report["sum"])
        rows = {(row["function"], row["file"], row["module"]): [row["self"], row["total"]]
                for row in report["functions"]}
        check(f"{name}: {own['type']}: functions", page.functions(kind), rows)


def plain_and_labelled():
    for name, labelled in (("plain", False), ("labelled", True)):
        maker = Maker(name, 700, labelled)
        path = maker.write(name)
        page = draw(name, path)
        check(f"{name}: has rows", page.meta["rows"], labelled)
        check_profile(name, maker, page)
        check_report(name, page, path)
        fields = page.fields
        check(f"{name}: short names", {short for full, short in zip(fields["name"], fields["short"])
                                       if "inl" in full}, {f"ns::inl{k}<…>" for k in range(3)})
        origins = set(zip(fields["module"], fields["path"], fields["build"]))
        check(f"{name}: origins", origins,
              {(path.rsplit("/", 1)[1], path, build) for path, build in MODULES})
        lines = [line for stack, _, _ in maker.samples for frame, _ in stack for own, _, line in frame
                 if own == "main"]
        own = [k for k, full in enumerate(fields["name"]) if full == "main"]
        check(f"{name}: lines of main", (min(fields["low"][k] for k in own),
                                         max(fields["high"][k] for k in own)), (min(lines), max(lines)))


def comparison():
    new, old = Maker("new", 400), Maker("old", 300, first=START + 86400 * 10**9)
    disjoint = Maker("disjoint", 1)
    disjoint.samples = [((((("gone", "", 1),), 0),), [], [5, 50])]
    for name, before in (("old", old), ("disjoint", disjoint)):
        page = draw(f"against-{name}", new.write("new"), "--diff", before.write(name))
        check(f"against {name}: sides", page.sides, 2)
        check_profile(f"against {name}: new", new, page, 0)
        check_profile(f"against {name}: old", before, page, 1)
    unlabelled = draw("against-plain", Maker("a", 50, False).write("a"), "--diff",
                      Maker("b", 60, False).write("b"))
    check("plain comparison: has rows", unlabelled.meta["rows"], False)
    check_profile("plain comparison: new", Maker("a", 50, False), unlabelled, 0)
    check_profile("plain comparison: old", Maker("b", 60, False), unlabelled, 1)
    check("titles", [side["title"] for side in unlabelled.meta["sides"]], ["a.pb.gz", "b.pb.gz"])
    run("flame", WORK / "a.pb.gz", "--diff", WORK / "b.pb.gz", "-o", WORK / "x.svg", status=2)
    (WORK / "other.folded").write_text("main 3\n")
    run("flame", WORK / "a.pb.gz", "--diff", WORK / "other.folded", "-o", WORK / "x.html", status=1)


def several_inputs():
    makers = {name: Maker(name, 100, False) for name in ("one", "two")}
    page = draw("several", *(maker.write(name) for name, maker in makers.items()))
    sums, paths = collections.Counter(), paths_of(page)
    for node, labels, _, values in page.rows():
        (key, value, _), = labels
        check("the label of an input", key, "input")
        sums[value, paths[node]] += values[0]
    wanted = {(f"{name}.pb.gz", path): value for name, maker in makers.items()
              for path, value in maker.selves(0).items()}
    check("samples know their input", sums, collections.Counter(wanted))
    same = WORK / "folder"
    same.mkdir(exist_ok=True)
    (same / "one.pb.gz").write_bytes((WORK / "one.pb.gz").read_bytes())
    page = draw("same-names", WORK / "one.pb.gz", same / "one.pb.gz")
    check("inputs of one name are told apart", {labels[0][1] for _, labels, _, _ in page.rows()},
          {str(WORK / "one.pb.gz"), str(same / "one.pb.gz")})


def labels():
    maker, all_of = Maker("labels", 200), Maker("labels", 200)
    path = maker.write("labels")
    for wanted in ([("thread", "pool")], [("thread", "main"), ("tid", -3)]):
        maker.samples = [s for s in all_of.samples if all(any(own[:2] == one for own in s[1]) for one in wanted)]
        page = draw("chosen", path, *[f"--label={key}={value}" for key, value in wanted])
        check_profile(f"samples with {wanted}", maker, page)
    done = run("flame", path, "-o", WORK / "none.html", "--label", "thread=nobody")
    check("a label that no sample has", "no sample has the label of --label" in done.stderr, True)
    done = subprocess.run([CAIRN, "flame", path, "-o", "-", "--label", "thread"], capture_output=True, text=True)
    check("a label without a value", (done.returncode, "expected KEY=VALUE" in done.stderr), (2, True))


def check_heat(name, maker, page, side=0):
    """What ended in a line, and what went through it, each sample once."""
    fields, inlined = page.fields, page.meta["kinds"].index("inlined")
    for kind, (own, _) in enumerate(TYPES):
        wanted = {}
        for stack, _, values in maker.samples:
            lines = [(line, (function, file, MODULES[module][0].rsplit("/", 1)[1], inner))
                     for frame, module in stack
                     for inner, (function, file, line) in enumerate(frame)]
            for line in set(lines):
                wanted.setdefault(line, [0, 0])[1] += values[kind]
            wanted[lines[-1]][0] += values[kind]
        got = {(line, (fields["name"][k], fields["file"][k], fields["module"][k],
                       int(fields["kind"][k] == inlined))): sums
               for (k, line), sums in page.heat(kind, side).items() if any(sums)}
        check(f"{name}: heat of {own}", got, wanted)


def heat():
    (WORK / "lines").mkdir(exist_ok=True)
    (WORK / "lines" / "main.cc").write_text("line\n" * 100)
    for labelled in (True, False):
        new, old = Maker("new", 300, labelled), Maker("old", 200, labelled)
        page = draw("heat", new.write("new"), "--diff", old.write("old"), f"--source={WORK / 'lines'}")
        check("files with source", list(page.source()), ["/src/main.cc"])
        check_heat("new", new, page, 0)
        check_heat("old", old, page, 1)
    check("no source, no heat", draw("cold", WORK / "new.pb.gz").heat(0), {})
    (WORK / "plain.folded").write_text("a;b 1\n")
    check("no lines, no heat", draw("cold", WORK / "plain.folded", f"--source={WORK / 'lines'}").heat(0), {})


def one_line(file, line):
    maker = Maker("s", 0)
    maker.samples = [((((("f", file, line),), 0),), [], [1, 1])]
    return maker


def source():
    folder = WORK / "sources"
    (folder / "app").mkdir(parents=True, exist_ok=True)
    text_of = [f"line {k}" for k in range(1, 101)]
    text_of[49] = "\tif (a < b && </script>)\x1b[31m\u2028 " + "long " * 200
    (folder / "app" / "x.c").write_text("\n".join(text_of) + "\n")
    (WORK / "secret.c").write_text("secret\n" * 100)
    page = draw("source", one_line("/build/tree/app/x.c", 50).write("s"), f"--source={folder}")
    lines = page.source()["/build/tree/app/x.c"]
    check("the lines around", sorted(lines), list(range(46, 55)))
    check("their text", lines[46], "line 46")
    check("tabs and terminals", lines[50].startswith("    if (a < b && </script>)\\x1b[31m\\u{2028} l"), True)
    check("a long line ends early", len(lines[50]) < 500, True)
    check("the script that the line ends is none", page.tags.count("script") <
          len(page.blocks) + 2, True)
    for file in ("../secret.c", "/build/../../secret.c", "app/../../secret.c", "/etc/passwd", "..", ""):
        page = draw("outside", one_line(file, 50).write("s"), f"--source={folder}")
        check(f"{file} is not looked for outside", page.source(), {})
    page = draw("end", one_line("x/../app/./x.c", 100).write("s"), f"--source={folder}")
    check("the end of a file", list(page.source().values())[0], {k: f"line {k}" for k in range(96, 101)})
    os.mkfifo(folder / "pipe.c")
    check("a pipe is no source", draw("pipe", one_line("pipe.c", 1).write("s"),
                                      f"--source={folder}").source(), {})
    (folder / "pipe.c").unlink()
    for file, line in (("app", 1), ("app/x.c", 5000), ("app/x.c", 2**32 - 1)):
        check(f"{file} has no line {line}", draw("none", one_line(file, line).write("s"),
                                                 f"--source={folder}").source(), {})
    (folder / "link.c").symlink_to("../secret.c")
    check("a link does not lead out", draw("link", one_line("link.c", 50).write("s"),
                                           f"--source={folder}").source(), {})
    (folder / "wide.c").write_text("\u6587" * 300 + "\n" + "\U0001f525" * 300 + "\n")
    (folder / "bytes.c").write_bytes(b"\x80" * 1000 + b"\n" + b"\xff\0\xc3" * 300)
    lines = draw("wide", one_line("wide.c", 1).write("s"), f"--source={folder}").source()["wide.c"]
    check("lines end between characters", lines, {1: "\u6587" * 133, 2: "\U0001f525" * 99})
    lines = draw("bytes", one_line("bytes.c", 1).write("s"), f"--source={folder}").source()["bytes.c"]
    check("bytes that are no text are shown", [line[:8] for line in lines.values()], ["\\x80\\x80", "\\xff\\x00"])


def on_a_terminal(*arguments, **env):
    """Runs cairn on a terminal of its own with an xdg-open that writes down what it is given."""
    tools = WORK / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "xdg-open").write_text(f'#!/bin/sh\necho "$@" >>{WORK}/opened\n')
    (tools / "xdg-open").chmod(0o755)
    own = {key: value for key, value in os.environ.items()
           if key not in ("SSH_CONNECTION", "SSH_TTY", "SUDO_USER", "CI", "WAYLAND_DISPLAY", "DISPLAY")}
    master, slave = os.openpty()
    done = subprocess.run([CAIRN, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave,
                          env={**own, "PATH": f"{tools}:{own['PATH']}", **env}, timeout=60)
    os.close(slave)
    os.close(master)
    check(f"{arguments} on a terminal", done.returncode, 0)


def browser():
    source, opened = WORK / "t.folded", WORK / "opened"
    source.write_text("a;b 1\n")
    out = [WORK / f"-t {k}.html" for k in range(4)]
    check("the path is said", run("flame", source, "-o", out[0]).stdout, f"{out[0]}\n")
    on_a_terminal("flame", source, "-o", out[1], DISPLAY="")
    on_a_terminal("flame", source, "-o", out[2], "--no-open", DISPLAY=":0")
    on_a_terminal("flame", source, "-o", WORK / "t.svg", DISPLAY=":0")
    on_a_terminal("flame", source, "-o", out[3], DISPLAY=":0", SSH_TTY="/dev/pts/3")
    on_a_terminal("flame", source, "-o", out[3], "--force", DISPLAY=":0")
    end = time.monotonic() + 60
    while not (opened.exists() and opened.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.02)
    check("one page was opened", opened.read_text() if opened.exists() else "", f"{out[3]}\n")


def odd_ones():
    page = draw("empty", Maker("empty", 0).write("empty"))
    check("an empty profile is a root", (page.n, page.looks, page.paths()), (1, [], [()]))
    deep = ";".join(["down"] * 5000)
    (WORK / "deep.folded").write_text(f"{deep} 3\n{deep};up -1\n")
    page = draw("deep", WORK / "deep.folded")
    check("a deep profile is whole", (page.n, max(page.depths), sum(page.selves(0))), (5002, 5001, 2))
    check("negative values", page.selves(0)[-1], -1)
    big = (1 << 62) + 12345
    (WORK / "big.folded").write_text(f"a {big}\nb 7\n")
    check("large values are exact", sum(draw("big", WORK / "big.folded").selves(0)), big + 7)


HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "-->", "\u2028\u2029", "a\"b'c",
           "<img src=x onerror=alert(1)>", "]]>", "&lt;", "${x}`", "\\u003c", "\x1b[31m", "\u202ex",
           "__proto__", "toString"]


def hostile_names():
    plain = draw("harmless", Maker("h", 3).write("h"))
    maker = Maker("h", 3)
    for k, name in enumerate(HOSTILE):
        maker.samples.append((((((name, name, 5),), k % 2),), [(name, name, None), ("n", 1, name)], [1, 1]))
    path = maker.write("hostile")
    (WORK / HOSTILE[1]).write_bytes(path.read_bytes())
    page = draw("hostile", path, "--title", HOSTILE[0], "--diff", WORK / HOSTILE[1])
    more = [id for id in page.blocks if id.startswith("old-")]
    check("no element but ours", sorted(page.tags), sorted(plain.tags + ["script"] * len(more)))
    check("the title is a title", page.meta["title"], HOSTILE[0])
    written = (WORK / "hostile.html").read_text()
    for part in ("alert(1)", "\u2028", "\u202e", "\x1b"):
        check(f"{part!r} is nowhere as text", part in written.replace("alert(1)&lt;", "")
              .replace("\\u003cscript\\u003ealert(1)", "").replace("&lt;script&gt;alert(1)", ""), False)
    names = set(page.fields["name"])
    for name in ("<!--<script>", "-->", "a\"b'c", "\\u{2028}\\u{2029}", "\\x1b[31m", "\\u{202e}x",
                 "__proto__"):
        check(f"{name!r} is a name", name in names, True)


for group in (plain_and_labelled, labels, comparison, several_inputs, heat, source, browser, odd_ones, hostile_names):
    group()
sys.exit(f"{len(failures)} checks failed" if failures else 0)
