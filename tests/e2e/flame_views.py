#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each view of the page, by what a person does: inverted, sandwich, table, tree, timeline; one
selection that all share; and by the keyboard alone."""
from flame_page import Browser, check, check_that, finish, flame, pprof_of_threads
from selenium.webdriver.common.keys import Keys

STACKS = """\
main;run;parse;copy 30
main;run;parse 10
main;run;find;hash 25
main;run;find;hash;copy 5
main;run;walk;walk;walk 20
idle 10
"""

NAMES_ON_SCREEN = """
    const { chart, tree, page } = cairn, names = [];
    for (let y = 2; y < chart.height; y += 5)
        for (let x = 3; x < chart.width; x += 7) {
            const node = chart.nodeAt(x, y);
            if (node >= 0) names.push(page.looks.name(tree.look[node]));
        }
    return [...new Set(names)].sort();"""


def click(browser, selector):
    browser.run("document.querySelector(arguments[0]).click()", selector)
    browser.settle()


def pressed(browser):
    return browser.text("#views [aria-pressed=true]")


def shows_who_calls(browser, page):
    browser.open(page)
    click(browser, "[data-view=inverted]")
    check("the view", [pressed(browser), browser.fragment()], ["Inverted", {"view": "inverted"}])
    copy = browser.node("copy")
    check("all that ended in copy", browser.run("return cairn.tree.total[arguments[0]]", copy), 35)
    browser.point(copy, click=True)
    check("zoomed", browser.view(), [0, 0.35])
    check("its callers", [browser.run("return cairn.tree.total[arguments[0]]", browser.node("copy", name))
                          for name in ("hash", "parse")], [5, 30])
    link = browser.driver.current_url.split("#")[1]
    check("crumbs", browser.text("#crumbs").split("\n"), ["all", "copy"])
    browser.driver.back()
    browser.settle()
    check("back", browser.view(), [0, 1])
    browser.open(page, fragment="#" + link)
    check("by link", [pressed(browser), browser.view()], ["Inverted", [0, 0.35]])
    browser.check_quiet("inverted")


def shows_a_sandwich(browser, page):
    browser.open(page)
    browser.point(browser.node("main", "run", "find", "hash"), click=True)
    browser.press("s")
    check("the function in the middle", browser.text("#middle strong"), "hash")
    check("its numbers", browser.text("#middle span"), "30 samples · 30.0% total, 25.0% self, in 1 place")
    trees = browser.run("""
        const { callers, callees } = cairn.app.view;
        return [callers, callees].map(({ tree }) => tree.childrenOf(0).map((i) => [cairn.page.looks.name(tree.look[i]), tree.total[i]]));""")
    check("callers and callees", trees, [[["find", 30]], [["copy", 5]]])
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    check("another one by keys", browser.text("#middle strong"), "copy")
    browser.press(Keys.ARROW_UP)
    check_that("its callers, by keys", browser.text("#spoken").startswith("parse"), browser.text("#spoken"))
    browser.press(Keys.BACKSPACE)
    check("back to the one before", browser.text("#middle strong"), "hash")
    browser.press("1")
    check("back in the flame graph", [pressed(browser), browser.run("return cairn.page.looks.name(cairn.chart.selected)")],
          ["Flame", "hash"])
    browser.check_quiet("sandwich")


def table(browser):
    return browser.run("""return [...document.querySelectorAll("#table tbody tr")].map((row) =>
        [...row.querySelectorAll("td > span:not(.share, .bar), td:nth-child(3), td:nth-child(4)")].map((cell) => cell.textContent))""")


def shows_a_table(browser, page):
    browser.open(page)
    browser.press("4")
    rows = table(browser)
    check("the table", rows[:3], [["35 samples", "35 samples", "2", "copy"], ["25 samples", "30 samples", "1", "hash"],
                                  ["20 samples", "20 samples", "3", "walk"]])
    check("sums", sum(int(row[0].split()[0]) for row in rows), 100)
    for column, first in (("total", "main"), ("places", "walk"), ("function", "copy"), ("self", "copy")):
        browser.run("""[...document.querySelectorAll("#table th button")].find((b) => b.textContent === arguments[0]).click()""", column)
        browser.settle()
        check(f"sorted by {column}", table(browser)[0][3], first)
        check(f"says so: {column}", browser.run("""return [...document.querySelectorAll("#table th")]
            .filter((th) => th.getAttribute("aria-sort") !== "none").map((th) => th.textContent)"""), [column])
    browser.press("/", "p", "a", "r")
    check("filtered as one types", [row[3] for row in table(browser)], ["parse"])
    check("says how many", browser.text("#table caption"), "1 of 8 functions")
    browser.press(Keys.ESCAPE)
    check("all again", len(table(browser)), 8)
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    check("the second by keys", [pressed(browser), browser.text("#middle strong")], ["Sandwich", "hash"])
    browser.check_quiet("table")


def calls(browser):
    return browser.run("""return [...document.querySelectorAll("#tree tr[data-node]")].map((row) =>
        [Number(row.ariaLevel), row.ariaExpanded, row.cells[0].textContent, row.querySelector(".twist + span").textContent])""")


def shows_a_tree(browser, page):
    browser.open(page)
    browser.press("5")
    check("opened along the heaviest way", calls(browser), [
        [1, "true", "90.0%", "main"], [2, "true", "90.0%", "run"], [3, "false", "40.0%", "parse"],
        [3, "false", "30.0%", "find"], [3, "false", "20.0%", "walk"], [1, None, "10.0%", "idle"]])
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    check_that("opened by keys", [4, None, "30.0%", "copy"] in calls(browser), calls(browser))
    browser.press(Keys.ARROW_LEFT)
    check("closed", len(calls(browser)), 6)
    browser.run("[...document.querySelectorAll('#tree tr[data-node]')][4].click()")
    browser.settle()
    check_that("opened by a click", [4, "false", "20.0%", "walk"] in calls(browser), calls(browser))
    check("selected", browser.run("return cairn.page.looks.name(cairn.state.fn)"), "walk")
    browser.check_quiet("tree")


def shows_a_timeline(browser):
    rows = [(["work", "main"], "busy", 1, at, 2) for at in range(0, 1000, 10)] + \
           [(["wait", "main"], "calm", 2, at, 1) for at in range(500, 1500, 100)]
    page = flame("times", pprof_of_threads(rows))
    browser.open(page)
    browser.press("6")
    check("threads", browser.text("#timeline .threads").split("\n"),
          ["busy · 1", "200 samples", "calm · 2", "10 samples"])
    box = browser.run("const b = document.querySelector('#timeline canvas').getBoundingClientRect(); return [b.left, b.top, b.width]")
    browser.drag(box[0] + 1, box[1] + 60, box[0] + box[2] / 2, box[1] + 60)
    span = [round(float(part) / 1e5) for part in browser.fragment()["span"].split("-")]
    check("the first half", span, [0, 8])
    browser.press("1")
    check("the flame graph follows", [browser.text("#count"), browser.run("return cairn.tree.total[arguments[0]]", browser.node("main", "wait"))],
          ["3 frames · 153 samples", 3])
    browser.press("4")
    check("the table follows", [row[:2] for row in table(browser) if row[3] == "work"], [["150 samples", "150 samples"]])
    browser.press("6", "0")
    browser.run("document.querySelectorAll('#timeline .threads button:not(.twisty)')[1].click()")
    browser.settle()
    browser.press("1")
    check("one thread alone", [browser.text("#count"), browser.text("#chips")], ["3 frames · 10 samples", "tid: 2"])
    click(browser, "#chips button")
    check("taken away", [browser.text("#count"), browser.text("#chips")], ["3 frames · 210 samples", ""])
    browser.check_quiet("timeline")


def shows_events(browser):
    rows = [(["work", "main"], "busy", 1, at, 2) for at in range(0, 1000, 10)]
    events = [("openat", ["work", "main"], "busy", 1, 200, 50_000_000, {"arg.path": '"<b>/etc"', "result": "-1 ENOENT"}),
              ("read", ["work", "main"], "quiet", 3, 900, 0, {})]
    browser.open(flame("events", pprof_of_threads(rows, events=events)))
    browser.press("6")
    check("threads", browser.text("#timeline .threads").split("\n"),
          ["busy · 1", "200 samples, 1 event", "quiet · 3", "1 event"])
    check("the sums are those of samples", browser.run("return cairn.app.whole"), 200)
    left, top, row = browser.run("""
        const { canvas, lanes } = cairn.app.view, box = canvas.getBoundingClientRect();
        return [box.left, box.top, lanes[1].top];""")
    where = lambda ms: left + browser.run("return cairn.app.view.place(arguments[0] * 1000)", ms)
    browser.move(where(225), top + 24 + 8)
    check("the event under the pointer", browser.tip(),
          {"": "openat", "at": "200.000 ms", "took": "50.0 ms", "path": '"<b>/etc"', "result": "-1 ENOENT",
           "thread": "busy · 1", "stack": "work\nmain"})
    browser.move(where(600), top + 24 + 8)
    check("no event there", browser.tip(), None)
    browser.move(where(900), top + 24 + row + 8)
    check("one that took no time", browser.tip()["at"], "900.000 ms")
    shown = lambda: [round(at / 1e3) for at in browser.run("return [cairn.app.view.low, cairn.app.view.high]")]
    whole = shown()
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
        "type": "mouseWheel", "x": where(200), "y": top + 40, "deltaX": 0, "deltaY": -60, "modifiers": 2})
    browser.settle()
    low, high = shown()
    check_that("Ctrl and the wheel stretch", whole == [0, 1000] and 0 < low < 200 < high < 1000, [whole, low, high])
    check_that("where the pointer is", abs((200 - low) / (high - low) - 200 / 1000) < 0.01, [low, high])
    browser.press("-", "-")
    check("back by a key", shown(), whole)
    browser.run("document.querySelectorAll('#timeline .threads button:not(.twisty)')[1].click()")
    browser.settle()
    browser.move(where(225), top + 24 + 8)
    check("of other threads none is shown", browser.tip(), None)
    browser.check_quiet("events")


# Where the window of the overview begins and ends, as shares of its width: what lies beside it is veiled.
WINDOW = """
    const canvas = document.getElementById("overview"), { width, height } = canvas;
    const text = cairn.app.colours.palette.text.match(/[0-9a-f]{2}/g).map((c) => parseInt(c, 16));
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true }), ink = [];
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    for (let x = 0; x < width; x++) ink.push([0, 1, 2].map((c) => data[4 * ((height >> 1) * width + x) + c]).join() === text.join());
    return canvas.hidden ? null : [ink.indexOf(true) / width, (ink.lastIndexOf(true) + 1) / width];"""


def near(got, wanted):
    return all(abs(a - b) < 0.01 for a, b in zip(got, wanted))


def shows_where_the_view_is(browser, page):
    browser.open(page)
    check("nothing at first", browser.run(WINDOW), None)
    browser.point(browser.node("main", "run", "find"), click=True)
    view, window = browser.view(), browser.run(WINDOW)
    check_that("a window over what is shown", near(window, view), [window, view])
    left, top, width = browser.run("const b = document.getElementById('overview').getBoundingClientRect(); return [b.left, b.top, b.width]")
    browser.drag(left + width * 0.3, top + 9, left + width * 0.75, top + 9)
    check_that("moved by the pointer", near(browser.view(), [0.6, 0.9]), browser.view())
    check_that("and the window too", near(browser.run(WINDOW), [0.6, 0.9]), browser.run(WINDOW))
    browser.drag(left + width * 0.5, top + 9, left + width + 12, top + 9)
    check_that("not beyond the end", near(browser.view(), [0.7, 1]), browser.view())
    check("drawn once", browser.run("""const { overview } = cairn.app.view, { small } = overview, like = small.drawLike;
        let drawn = 0;
        small.drawLike = function (chart) { drawn++; return like.call(this, chart); };
        cairn.app.view.pane.show(0.2, 0.4);
        overview.renew();
        cairn.app.view.pane.show(0.3, 0.5);
        overview.renew();
        return drawn;"""), 0)
    browser.press(Keys.ESCAPE)
    check("all again", [browser.view(), browser.run(WINDOW)], [[0, 1], None])
    browser.run("cairn.app.view.pane.show(0.2, 0.4)")
    browser.settle()
    browser.press(Keys.ESCAPE)
    check("also where fingers alone moved it", browser.view(), [0, 1])
    browser.check_quiet("overview")


def is_used_by_keys_alone(browser, page):
    browser.open(page)
    for key, view in zip("123456", ("Flame", "Inverted", "Sandwich", "Table", "Tree", "Tree")):
        browser.press(key)
        check(f"key {key}", pressed(browser), view)  # no times, no timeline
    browser.press("1", "?")
    check("the sheet", browser.run("return document.getElementById('sheet').open"), True)
    check("its button is no bar, and it has the key of the table", browser.run("""
        const sheet = document.getElementById("sheet");
        return [sheet.querySelector("button").offsetWidth < 60, [...sheet.querySelectorAll("kbd")].some((key) => key.textContent === "t")]"""),
        [True, True])
    browser.press(Keys.ESCAPE)
    check("closed", browser.run("return document.getElementById('sheet').open"), False)
    browser.press(Keys.ARROW_UP, "d")
    check_that("details", browser.text("#facts h2") == "main", browser.text("#facts"))
    browser.press(Keys.ARROW_UP)
    check("they follow", browser.text("#facts h2"), "run")
    browser.press("d", "m", Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    check("by the menu", browser.fragment().get("asks", "")[:14], '[{"ask":"focus')
    browser.press(Keys.BACKSPACE)
    check("taken back", browser.fragment().get("asks"), None)
    for _ in range(60):  # through all that can be reached by Tab, and back
        browser.press(Keys.TAB)
    reached = browser.run("return document.activeElement?.tagName ?? ''")
    check_that("Tab goes on", reached, reached)
    browser.check_quiet("keys alone")


def main():
    page = flame("views", STACKS)
    browser = Browser()
    try:
        for test in (shows_who_calls, shows_a_sandwich, shows_a_table, shows_a_tree, shows_where_the_view_is, is_used_by_keys_alone):
            test(browser, page)
        shows_a_timeline(browser)
        shows_events(browser)
    finally:
        browser.close()
    finish()


main()
