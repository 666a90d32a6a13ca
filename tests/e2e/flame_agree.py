#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of real programs: every view of the page has the numbers of `cairn report`, and both those of
`go tool pprof -top`, for each type of values. In tests/data/agree, made by `cairn record` or `cairn heap
run`, then `cairn resolve`, are

    inlines    cairn resolve           heap    sqlite3, a heap file     recursion   clang++ -O2
    kernel     redis-server under redis-benchmark, --timeline           waits       the same, --off-cpu
"""
import collections
import json
import re
import shutil
import subprocess

from flame_page import CAIRN, SRC, WORK, Browser, check, check_that, finish, flame

# By what each profile is for: something that is true of its tree of calls, or its types of values.
PROFILES = {
    "inlines": lambda calls, values: any(way[-1].startswith("cairn_reader_take\n") for way in calls),
    "heap": lambda calls, values: {"inuse_space", "alloc_objects", "peak_space"} <= set(values),
    "recursion": lambda calls, values: any(way[-1] in way[:-1] for way in calls),
    "kernel": lambda calls, values: any(way[-1].endswith("\n[kernel.kallsyms]") for way in calls),
    "waits": lambda calls, values: "off_cpu" in values,
}
PPROF = ["go", "tool", "pprof", "-symbolize=none", "-nodecount=1000000", "-nodefraction=0",
         "-edgefraction=0", "-trim=false", "-top"]
UNITS = {"count": "count", "nanoseconds": "ns", "bytes": "B"}  # in which pprof prints all digits

# The tree of the view at hand, as rows of (path, total, self). A function is its name, file and module.
LIST = """
    const { app } = cairn, { looks } = app, [levels, pane] = arguments, rows = [];
    const key = (k) => [looks.name(k), looks.file(k), looks.module(k)].join("\\n");
    const tree = pane ? app.view[pane].tree : app.view.tree;
    const go = (node, path) => {
        for (const child of tree.childrenOf(node)) {
            const own = [...path, key(tree.look[child])];
            rows.push([own, tree.total[child], tree.self[child]]);
            if (!levels || own.length < levels) go(child, own);
        }
    };
    go(0, []);
    return rows;"""

TABLE = """
    const { app } = cairn, { looks } = app, { self, total } = app.model.functions(app.question), rows = [];
    for (let k = 0; k < looks.n; k++)
        if (total[k]) rows.push([[looks.name(k), looks.file(k), looks.module(k)].join("\\n"), self[k], total[k]]);
    return rows;"""


def key_of(row):
    return "\n".join((row["function"], row["file"], row["module"]))


def report(path, value, *options):
    done = subprocess.run([CAIRN, "report", path, "--json", "--top=0", f"--value={value}", *options],
                          stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stdout)


def report_tree(path, value, *options):
    """Path to (total, self), of what is not 0."""
    nodes, way = {}, []
    for node in report(path, value, "--min-percent=0", *options)["nodes"]:
        del way[node["depth"]:]
        way.append(key_of(node))
        if node["total"]:
            nodes[tuple(way)] = node["total"], node["self"]
    return nodes


def report_table(path, value):
    return {key_of(row): (row["self"], row["total"])
            for row in report(path, value)["functions"] if row["total"]}


def differences(got, wanted):
    """Some of what differs, for a message that can be read."""
    off = sorted(key for key in set(got) | set(wanted) if got.get(key) != wanted.get(key))
    return [(key, got.get(key), wanted.get(key)) for key in off[:4]], len(off)


def agree(name, got, wanted):
    check_that(f"{name}: there is nothing", wanted)
    check(name, differences(got, wanted), ([], 0))


# pprof ------------------------------------------------------------------------------------------

def pprof_table(path, value, unit):
    """Name to (flat, cum): pprof has one line for all files and modules with a function of that name,
    and one for all of a module that has no name."""
    done = subprocess.run([*PPROF, f"-sample_index={value}", f"-unit={UNITS[unit]}", path],
                          stdout=subprocess.PIPE, check=True, text=True, timeout=120)
    rows = {}
    for line in done.stdout.splitlines():
        row = re.match(r"\s*(\d+)[a-zA-Z]*\s+\S+%\s+\S+%\s+(\d+)[a-zA-Z]*\s+\S+%\s+(.*?)"
                       r"(?: \((?:partial-)?inline\))?$", line)
        if row and int(row[2]):
            check_that(f"pprof has {row[3]} once", row[3] not in rows)
            rows[row[3]] = int(row[1]), int(row[2])
    return rows


def as_pprof(tree):
    """The same lines out of a tree of calls: what counts once for each stack, by pprof's names."""
    rows = collections.defaultdict(lambda: [0, 0])

    def name(key):
        function, _, module = key.split("\n")
        return f"[{module}]" if re.fullmatch(r"(.*\+)?0x[0-9a-f]+", function) else function

    for way, (total, own) in tree.items():
        names = [name(key) for key in way]
        rows[names[-1]][0] += own
        if names[-1] not in names[:-1]:
            rows[names[-1]][1] += total
    return {name: tuple(row) for name, row in rows.items()}


# The page ---------------------------------------------------------------------------------------

def page_tree(browser, levels=0, pane=None):
    nodes = collections.defaultdict(lambda: (0, 0))
    for way, total, own in browser.run(LIST, levels, pane):  # a function of two kinds is two boxes
        nodes[tuple(way)] = nodes[tuple(way)][0] + total, nodes[tuple(way)][1] + own
    return dict(nodes)


def totals(tree):
    return {way: total for way, (total, _) in tree.items()}


def same_trees(browser, what, calls):
    for key, view in (("1", "flame"), ("5", "tree")):
        browser.press(key)
        agree(f"{what}: {view}", page_tree(browser), calls)


def same_inverted(browser, what, path, value):
    """What ended in a function, and for whom: the self values of --callers."""
    browser.press("2")
    callers = report_tree(path, value, "--callers", "--depth=2")
    agree(f"{what}: inverted", totals(page_tree(browser, 2)),
          {way: own for way, (_, own) in callers.items() if own})


def same_table(browser, what, path, value):
    browser.press("4")
    wanted = report_table(path, value)
    agree(f"{what}: table", {key: (own, total) for key, own, total in browser.run(TABLE)}, wanted)
    caption = browser.text("#table caption")
    check(f"{what}: rows", caption, f"{len(wanted):,} function{'s' * (len(wanted) != 1)}")


def in_the_middle(calls):
    """The functions that calls go through most: those that call themselves, and any, by names that
    are there once."""
    names = collections.Counter(key.split("\n")[0] for key in {way[-1] for way in calls})
    weights, again = collections.Counter(), collections.Counter()
    for way, (total, _) in calls.items():
        if names[way[-1].split("\n")[0]] == 1 and len(way) > 1:
            (again if way[-1] in way[:-1] else weights)[way[-1]] += total
    return [key for counts in (weights, again) for key, _ in counts.most_common(3)]


def same_sandwich(browser, what, path, value, calls):
    table = report_table(path, value)
    for key in in_the_middle(calls):
        name = key.split("\n")[0]
        browser.run("""
            const { looks, state } = cairn.app;
            const fn = Array.from({ length: looks.n }, (_, k) => k).find((k) => looks.name(k) === arguments[0]);
            state.set({ fn, view: "sandwich" });""", name)
        browser.settle()
        below, above = (report_tree(path, value, f"--{kind}={name}") for kind in ("callees", "callers"))
        root = below.pop((key,))
        check(f"{what}: {name} in the middle", browser.run("""
            const { self, callers, callees } = cairn.model.sandwich(cairn.app.question, cairn.app.state.fn);
            return [callees.total[0], callers.total[0], self];"""), [root[0], root[0], table[key][0]])
        below = {way[1:]: row for way, row in below.items()}
        check(f"{what}: below {name}", differences(page_tree(browser, pane="callees"), below), ([], 0))
        above = {way[1:]: total for way, (total, _) in above.items() if len(way) > 1}
        check(f"{what}: above {name}", differences(totals(page_tree(browser, pane="callers")), above), ([], 0))


def same_timeline(browser, what, path, value):
    browser.press("6")
    threads = browser.run("return cairn.app.view.threads.map(({ key, value, sum }) => [key, value, sum]);")
    check_that(f"{what}: threads", threads)
    for key, text, total in threads:
        check(f"{what}: {key} {text}", total, report(path, value, f"--label={key}={text}")["sum"])


def same_numbers(browser, name, is_fit, has_pprof):
    path = SRC / f"tests/data/agree/{name}.pb.gz"
    browser.open(flame(name, path.read_bytes()))
    values = browser.run("return cairn.page.types.map(({ type }) => type);")
    check(f"{name}: values", values, report(path, values[0])["values"])
    n_compared = 0
    for at, value in enumerate(values):
        what, head = f"{name}, {value}", report(path, value)
        browser.run("cairn.state.set({ type: arguments[0], view: 'flame' });", at)
        browser.settle()
        check(f"{what}: all of it", browser.run("return cairn.app.whole;"), head["sum"])
        if not head["sum"]:
            continue
        n_compared += 1
        calls = report_tree(path, value, "--tree")
        check_that(f"{what}: fit for it", is_fit(calls, values))
        same_trees(browser, what, calls)
        same_inverted(browser, what, path, value)
        same_table(browser, what, path, value)
        if n_compared == 1:
            same_sandwich(browser, what, path, value, calls)
        if browser.run("return !document.querySelector('[data-view=timeline]').disabled;"):
            same_timeline(browser, what, path, value)
        if has_pprof:
            agree(f"{what}: pprof", as_pprof(calls), pprof_table(path, value, head["unit"]))
    check_that(f"{name}: values", n_compared >= 2, values)
    browser.check_quiet(name)


def main():
    has_pprof = shutil.which("go") and not subprocess.run(
        ["go", "tool", "-n", "pprof"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    if not has_pprof:
        print("without go tool pprof: scripts/deps.sh test installs it")
    browser = Browser()
    try:
        for name, is_fit in PROFILES.items():
            same_numbers(browser, name, is_fit, has_pprof)
    finally:
        browser.close()
    finish()


main()
