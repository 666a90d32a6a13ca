#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks over time in the timeline: runs of equal frames, gaps, time off the CPU, what the pointer and the keys
do; a heap by the birth of its blocks; and what `cairn flame` says of times."""
import subprocess

from flame_page import CAIRN, WORK, Browser, check, check_that, finish, flame, pprof_of_threads
from selenium.webdriver.common.keys import Keys

ROW = 19
CPU = (("samples", "count"), ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds"))
HOSTILE = "<img src=x onerror=globalThis.hacked=1>"

# What was drawn: [name, depth, from, to] in ms, by thread, from above and the left.
BOXES = """
    const { view, model, page } = cairn.app, { tree } = view;
    return view.lanes.filter(({ chart }) => chart).map(({ chart }) => chart.boxes.map(({ node, depth, start, end }) =>
        [page.looks.name(tree.look[node]), depth, start / 1e3, end / 1e3]).sort((a, b) => a[1] - b[1] || a[2] - b[2]));"""


def on(names, at, thread="busy", tid=1):
    return [names, thread, tid, at, (1, 1_000_000, 0)]


def off(names, at, took, why, waker="", thread="busy", tid=1):
    return [names, thread, tid, at, (1, 0, int(took * 1e6)), {"off_cpu": why, **({"woken_by": waker, "woken_by_pid": 42} if waker else {})}]


def threads_page():
    rows = [on(["hash", "find", "main"], at) for at in range(0, 20)]
    rows += [on(["copy", "find", "main"], at) for at in range(20, 40)]
    rows += [off(["futex", "wait", "main"], 40, 30, "sleep", HOSTILE)]
    rows += [on(["copy", "main"], at) for at in (70, 71)] + [on(["copy", "main"], at) for at in (95, 96, 97, 98, 99)]
    rows += [on(["copy", "main"], None)]
    rows += [on([HOSTILE, "main"], at, "calm", 2) for at in (10 + 2.5 * k for k in range(10))]
    return flame("stacks", pprof_of_threads(rows, types=CPU, events=[("openat", ["main"], "busy", 1, 10, 5_000_000, {})]), "--value=cpu")


def at(browser, ms, depth, thread=0):
    """The place of a moment at a level."""
    return browser.run("""
        const { view } = cairn.app, lane = view.lanes[arguments[2]], box = view.canvas.getBoundingClientRect();
        return [box.left + view.place(arguments[0] * 1000), box.top + view.yOf(lane) + lane.track + (arguments[1] - 0.5) * 19];""", ms, depth, thread)


def joins_runs(browser, page):
    browser.open(page, fragment="#view=timeline")
    busy, calm = browser.run(BOXES)
    check("runs of equal frames are one box", busy, [
        ["main", 1, 0, 72], ["main", 1, 95, 100],
        ["find", 2, 0, 40], ["wait", 2, 40, 70], ["copy", 2, 70, 72], ["copy", 2, 95, 100],
        ["hash", 3, 0, 20], ["copy", 3, 20, 40], ["futex", 3, 40, 70]])
    check("samples far apart are no run, but go on palely", [row for row in calm if row[1] == 1], [["main", 1, 10, 33.5]])
    check("what has no time is counted", browser.text(".note-over-time"), "1 of 59 samples do not say when they were taken, and are not in this view.")
    check("waits", browser.run("return cairn.app.view.lanes[0].chart.waits.map(({ start, end, depth }) => [start / 1e3, end / 1e3, depth])"), [[40, 70, 3]])
    browser.check_quiet("runs")


def says_what_is_under_the_pointer(browser, page):
    browser.open(page, fragment="#view=timeline")
    browser.move(*at(browser, 10, 3))
    tip = browser.tip()
    check("a box", {key: tip[key] for key in ("", "from", "for", "thread")}, {"": "hash", "from": "0 us", "for": "20.0 ms", "thread": "busy · 1"})
    browser.move(*at(browser, 50, 4))
    check("what was waited for", browser.tip(), {"": f"sleep, woken by {HOSTILE} (42)", "from": "40.000 ms", "for": "30.0 ms", "in": "futex", "thread": "busy · 1"})
    browser.move(*at(browser, 85, 2))
    check("nothing where nothing was seen", browser.tip(), None)
    check("names stay names", browser.run("return [globalThis.hacked ?? null, document.images.length]"), [None, 0])
    browser.check_quiet("tip")


def shares_the_selection(browser, page):
    browser.open(page, fragment="#view=timeline")
    x, y = at(browser, 10, 2)
    browser.drag(x, y, x, y)
    check("a click selects", browser.run("return cairn.page.looks.name(cairn.state.fn)"), "find")
    browser.press("1")
    check("in the flame graph too", browser.run("return cairn.page.looks.name(cairn.chart.selected)"), "find")
    browser.press("6")
    x0, y = at(browser, 0, 3)
    browser.drag(x0, y, at(browser, 20.5, 3)[0], y)
    browser.press("1")
    check("a span filters all", [browser.run("return cairn.tree.total[arguments[0]]", browser.node("main", "find", "hash")), browser.node("main", "wait")], [20_000_000, -1])
    browser.press("0", "6")
    browser.run("""cairn.app.ask({ ask: "hide", of: cairn.page.looks.same.findIndex((_, k) => cairn.page.looks.name(k) === "find") })""")
    browser.settle()
    check("what is hidden is hidden here", [row[:2] for row in browser.run(BOXES)[0] if row[1] == 2][:2], [["hash", 2], ["copy", 2]])
    browser.press("0")
    browser.run("""cairn.app.ask({ ask: "drop", of: cairn.page.looks.same.findIndex((_, k) => cairn.page.looks.name(k) === "find") })""")
    browser.settle()
    check("what is dropped is a gap", browser.run(BOXES)[0][0], ["main", 1, 40, 72])
    browser.check_quiet("selection")


def zooms_to_a_sample(browser, page):
    browser.open(page, fragment="#view=timeline")
    browser.run("cairn.app.view.show(5000, 8000)")
    browser.settle()
    low, high = browser.run("return [cairn.app.view.low / 1e3, cairn.app.view.high / 1e3]")
    check("three samples", [low, high, [row[0] for row in browser.run(BOXES)[0]]], [5, 8, ["main", "find", "hash"]])
    browser.press("0", Keys.ESCAPE)
    check("all again", browser.run("return [cairn.app.view.low, cairn.app.view.high]"), [0, 100000])
    browser.run("cairn.app.view.canvas.focus()")
    browser.press(Keys.ARROW_DOWN)
    check("keys begin in the middle", browser.tip()[""], "main")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    check("to the callee", browser.tip()[""], "futex")
    spoken = browser.run("return document.getElementById('spoken').textContent")
    check("spoken", spoken, "futex, from 40.000 ms, for 30.0 ms, busy · 1")
    browser.press(",")
    check("to the one before", [browser.tip()[""], browser.tip()["from"]], ["copy", "20.000 ms"])
    browser.press(Keys.ENTER)
    low, high = browser.run("return [cairn.app.view.low / 1e3, cairn.app.view.high / 1e3]")
    check_that("Enter fills the view with it", 18 < low < 20 and 40 < high < 42, [low, high])
    browser.press(Keys.ARROW_UP, ".")
    check("up, and to the next", browser.tip()[""], "wait")
    browser.check_quiet("zoom")


def opens_and_closes(browser, page):
    browser.open(page, fragment="#view=timeline")
    state = lambda: browser.run("return [...document.querySelectorAll('.twisty')].map((b) => b.ariaExpanded)")
    check("both fit", state(), ["true", "true"])
    browser.run("document.querySelector('.twisty').click()")
    browser.settle()
    check("closed", [state(), len(browser.run(BOXES))], [["false", "true"], 1])
    check("in the address", browser.fragment()["stacks"], '["tid=2"]')
    browser.check_quiet("open")


def groups_what_is_narrow(browser):
    """Of eight samples five are below hot(), each in another function, and three in the same of cold()."""
    rows = [on([f"leaf{at % 8}", "hot", "main"] if at % 8 < 5 else ["same", "cold", "main"], at) for at in range(16000)]
    browser.open(flame("narrow", pprof_of_threads(rows, types=CPU), "--value=cpu"), fragment="#view=timeline")
    names = browser.run("""
        const { view, page } = cairn.app, { levels, tree } = view.lanes[0].runs;
        return levels.slice(1).map(({ n, node, start, end }) => [n, end[n - 1] / 1e3 - start[0],
            [...new Set([...node.slice(0, n)].map((at) => page.looks.name(tree.look[tree.parent[at]])))]]);""")
    check("groups are where most of the time was", names, [[2000, 16000, ["hot"]], [250, 16000, ["hot"]], [32, 16000, ["hot"]], [4, 16000, ["hot"]]])
    check("and are drawn so", browser.run(BOXES)[0][:2], [["main", 1, 0, 16000], ["hot", 2, 0, 16000]])
    browser.move(*at(browser, 2000, 2))
    check_that("a length of many samples is no exact one", browser.tip()["for"].startswith("about "), browser.tip())
    browser.run("cairn.app.view.show(5000, 12000)")
    browser.settle()
    check("near, each is itself", [row[:3] for row in browser.run(BOXES)[0] if row[1] == 2], [["cold", 2, 5], ["hot", 2, 8]])
    browser.check_quiet("groups")


def shows_stacks_of_events(browser):
    events = [("openat", ["open", "read", "main"], "tool", 7, 10, 3_000_000, {"result": "3"}), ("close", ["close", "main"], "tool", 7, 20, 0, {})]
    browser.open(flame("events", pprof_of_threads([(["main"], "tool", 8, None, 1)], events=events)), fragment="#view=timeline")
    check("as long as they took", [row for row in browser.run(BOXES)[0] if row[0] == "open"], [["open", 3, 0, 3]])
    browser.move(*at(browser, 1, 3))
    check("with what is known of the event", {key: browser.tip()[key] for key in ("", "for", "result")}, {"": "open", "for": "3.00 ms", "result": "3"})
    browser.check_quiet("events")


def births_page():
    """Blocks of four stacks, born at three moments; half of the first were freed."""
    space = (("inuse_objects", "count"), ("inuse_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes"))
    rows = [(["node", "load", "main"], "", 1, 0, (1, 1000, 0, 0)), (["node", "load", "main"], "", 1, 1000, (2, 3000, 0, 0)),
            (["leaf", "main"], "", 1, 1000, (1, 500, 0, 0)), ([HOSTILE, "main"], "", 1, 2000, (1, 200, 0, 0)),
            (["node", "load", "main"], "", 1, None, (0, 0, 9, 9000))]
    rows += [([f"small{i}", "main"], "", 1, 1000, (1, 10, 0, 0)) for i in range(30)]
    return flame("births", pprof_of_threads(rows, types=space), "--value=inuse_space")


def shows_births(browser):
    browser.open(births_page(), fragment="#view=timeline")
    series = browser.run("const { heap } = cairn.app.view; return heap.series.map((one) => [heap.nameOf(one), [...one.up]])")
    check("by stack, at each moment", series[:3], [["node", [0, 1000, 4000]], ["leaf", [0, 0, 500]], [HOSTILE, [0, 0, 200]]])
    check("the largest 20 and the rest", [len(series), series[-1]], [21, ["13 other stacks", [0, 0, 130]]])
    check("as a list", browser.text(".births li").split("\n"), ["node", "4.00 kB · from load"])
    check("names stay names", browser.run("return [globalThis.hacked ?? null, document.images.length]"), [None, 0])
    browser.press(Keys.SHIFT + Keys.ARROW_LEFT + Keys.NULL)
    check("a span by keys", browser.fragment()["span"], "0-999999")
    browser.press("1")
    check("born in it", [browser.text("#count"), browser.run("return cairn.tree.total[0]")], ["35 frames · 1.00 kB", 1000])
    browser.press("6", "0")
    browser.run("cairn.app.view.select([1100000, 1900000])")
    browser.settle()
    check("a span goes from moment to moment", browser.fragment()["span"], "1000000-2000000")
    browser.check_quiet("births")


def dates_births_by_process(browser):
    """Epochs of one process say nothing of the other's."""
    space = (("inuse_objects", "count"), ("inuse_space", "bytes"))
    rows = [(["one", "main"], "", 1, at, (1, 100), {"pid": 1}) for at in (0, 1000, 2000)] + [(["two", "main"], "", 1, at, (1, 10), {"pid": 2}) for at in (500, 1500)]
    browser.open(flame("both", pprof_of_threads(rows, types=space), "--value=inuse_space"), fragment="#view=timeline")
    check("moments of both", browser.run("return cairn.app.view.heap.moments.map((at) => at / 1e3)"), [0, 500, 1000, 1500, 2000])
    check("born by the next one of its own", browser.run("return cairn.app.view.heap.series.map(({ up }) => [...up])"), [[0, 0, 100, 100, 300], [0, 0, 0, 10, 20]])
    browser.check_quiet("processes")


def run_heap():
    """A program of two seconds whose blocks go and stay."""
    out = WORK / "run.heap"
    program = "import time\nkept = []\nfor i in range(5):\n    kept.append([bytearray(2000) for _ in range(300)])\n    big = bytearray(3000000)\n    time.sleep(.45)\n    del big\n"
    for command in (["heap", "run", "-o", out, "--", "/usr/bin/python3", "-c", program], ["flame", out, "-o", WORK / "run.html"]):
        done = subprocess.run([CAIRN, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode:
            check("heap run", done.stdout, "")
    return WORK / "run.html"


def knows_a_real_heap(browser):
    browser.open(run_heap())
    check_that("the command is the title", browser.text("#title").startswith("cairn: /usr/bin/python3 -c"), browser.text("#title"))
    check("first what lived at the peak", browser.run("return cairn.app.type.type"), "peak_space")
    peak, whole = browser.run("return [cairn.page.lines.find(({ name }) => name === 'peak').value[0], cairn.app.whole]")
    check_that("the peak is there", 3_000_000 <= whole <= peak * 1.01 and peak < 8_000_000, [peak, whole])
    browser.press("6")
    born, alive, first = browser.run("""const { heap } = cairn.app.view, type = heap.type;
        return [heap.born, cairn.app.model.plain({ ...cairn.app.question, type }).total[0], heap.moments[0]]""")
    check("births add up to what lives", [born, first], [alive, 0])
    live = browser.run("const { heap } = cairn.app.view; return heap.moments.every((at, k) => k + 1 === heap.moments.length || heap.series.reduce((sum, { up }) => sum + up[k], 0) <= heap.valueAt(heap.live.time, heap.live.value, at))")
    check("what stays is part of what lived", live, True)
    check("the lines are in the chart", browser.run("return document.getElementById('lines').offsetHeight"), 0)
    browser.check_quiet("heap")


def says_what_an_svg_leaves_out():
    source = WORK / "events.pb.gz"
    source.write_bytes(pprof_of_threads([(["main"], "busy", 1, 0, 1)], events=[("open", ["main"], "busy", 1, 5, 0, {})] * 3))
    said = subprocess.run([CAIRN, "flame", source, "-o", WORK / "events.svg"], stderr=subprocess.PIPE, text=True, check=True).stderr
    check_that("events", "left out: 3 events" in said, said)


def keeps_times_of_perf_text(browser):
    text = "".join(f"app 7/7 [000] {1 + i / 1000:.6f}: 1000000 cpu-clock:\n\t    1000 f{i // 50} (/bin/app)\n\t    2000 main (/bin/app)\n\n" for i in range(100))
    browser.open(flame("script", text))
    check("sums alone", browser.run("return document.querySelector('[data-view=timeline]').disabled"), True)
    browser.open(flame("script", text, "--timeline"), fragment="#view=timeline")
    check("with --timeline its stacks", [row[:2] for row in browser.run(BOXES)[0]], [["main", 1], ["f0", 2], ["f1", 2]])
    browser.check_quiet("perf script")


def main():
    browser = Browser()
    page = threads_page()
    try:
        for test in (joins_runs, says_what_is_under_the_pointer, shares_the_selection, zooms_to_a_sample, opens_and_closes):
            test(browser, page)
        groups_what_is_narrow(browser)
        shows_stacks_of_events(browser)
        shows_births(browser)
        dates_births_by_process(browser)
        knows_a_real_heap(browser)
        keeps_times_of_perf_text(browser)
    finally:
        browser.close()
    says_what_an_svg_leaves_out()
    finish()


main()
