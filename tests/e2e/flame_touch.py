#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page under fingers, on a screen as narrow as a telephone's, and on paper."""
import base64
import re

from flame_page import Browser, check, check_picture, check_that, finish, flame, pprof, pprof_of_threads
from selenium.webdriver.common.keys import Keys

STACKS = "main;run;parse;copy 30\nmain;run;find;hash 25\nmain;run;walk;walk;walk 20\nidle 25\n"
LEAST = 24  # pixels that a finger can hit


def between(low, value, high):
    return low < value < high


def is_used_by_fingers(browser, page):
    browser.open(page)
    run = browser.node("main", "run")
    x, y = browser.place(run)
    browser.touch([(x, y)])
    browser.lift()
    check("a tap zooms", browser.view(), [0.25, 1])
    check("and selects", browser.run("return cairn.page.looks.name(cairn.state.fn)"), "run")
    browser.press(Keys.ESCAPE)

    wide = browser.run("return cairn.chart.width")
    browser.touch([(wide * 0.4, y), (wide * 0.6, y)], [(wide * 0.3, y), (wide * 0.7, y)], [(wide * 0.2, y), (wide * 0.8, y)])
    browser.lift()
    low, high = browser.view()
    check_that("a pinch stretches about its middle", between(0.3, high - low, 0.4) and between(0.45, (low + high) / 2, 0.55), [low, high])
    browser.touch([(wide * 0.5, y)], [(wide * 0.4, y)], [(wide * 0.3, y)])
    browser.lift()
    moved = browser.view()
    check_that("a finger moves it", between(0.05, moved[0] - low, 0.08) and abs(moved[1] - moved[0] - high + low) < 1e-5, [low, high, moved])
    check("that was no tap", browser.fragment().get("frame"), None)
    browser.touch([(wide * 0.2, y), (wide * 0.8, y)], [(wide * 0.3, y), (wide * 0.7, y)], [(wide * 0.45, y), (wide * 0.55, y)])
    browser.lift()
    check("a pinch shrinks", browser.view(), [0, 1])
    browser.check_quiet("fingers")


def holds_and_drags(browser, page):
    browser.open(page)
    x, y = browser.place(browser.node("main", "run", "find"))
    browser.touch([(x, y)])
    browser.wait("return !document.getElementById('menu').hidden")
    browser.lift()
    check("holding opens the menu", browser.text("#menu strong"), "find")
    check("it does not zoom", browser.view(), [0, 1])
    items = browser.run("return [...document.querySelectorAll('#menu button')].map((b) => b.getBoundingClientRect().height)")
    check_that("fingers can hit its lines", min(items) >= LEAST, items)
    x, y = browser.run("""const box = [...document.querySelectorAll("#menu button")].find((b) => b.textContent.startsWith("Details")).getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2]""")
    browser.touch([(x, y)])
    browser.lift()
    check("facts by fingers", browser.text("#facts h2"), "find")
    browser.check_quiet("holding")


def selects_a_span(browser):
    browser.open(flame("times", pprof_of_threads([(["work", "main"], "busy", 1, at, 1) for at in range(0, 1000, 10)])), fragment="#view=timeline")
    left, top, width = browser.run("const b = document.querySelector('#timeline canvas').getBoundingClientRect(); return [b.left, b.top, b.width]")
    browser.touch([(left + 1, top + 60)], [(left + width / 4, top + 60)], [(left + width / 2, top + 60)])
    browser.lift()
    check("the first half", [round(float(part) / 1e5) for part in browser.fragment()["span"].split("-")], [0, 5])
    browser.check_quiet("span")


# What of the page can be hit, cut off, or not reached: selector and size.
FAULTS = """
    const [least] = arguments, faults = [], wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) faults.push(["page", wide]);
    for (const one of document.querySelectorAll("button, select, input, #tree tr[data-node]")) {
        const box = one.getBoundingClientRect(), name = one.id || one.textContent.slice(0, 20);
        if (!box.width || one.matches("dialog *")) continue;
        const scrolls = one.closest("#crumbs, main > section, #filters, #facts");
        if (!scrolls && (box.left < 0 || box.right > innerWidth || box.bottom > innerHeight)) faults.push([name, "outside"]);
        const target = one.closest("label") ?? one, { width, height } = target.getBoundingClientRect();
        if (width < least || height < least) faults.push([name, width, height]);
        if (!scrolls && box.width && !one.disabled && !one.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2))) faults.push([name, "covered"]);
    }
    return faults;"""


def fits_a_telephone(browser):
    names = ["quite_a_long_name_for_a_function(unsigned long, char const*)", "main"]
    rows = [(names, f"thread with a long name {at % 3}", at % 3, at, 1) for at in range(0, 1000, 10)]
    page = flame("narrow", pprof_of_threads(rows), "--title=server --with --many --arguments --that --go --on --and --on")
    browser.open(page)
    for view in ("flame", "inverted", "sandwich", "table", "tree", "timeline"):
        browser.run("cairn.app.setView(arguments[0])", view)
        browser.settle()
        check(f"{view}: faults", browser.run(FAULTS, LEAST), [])
    check_that("names of functions have room", browser.run("""cairn.app.setView("table");
        return document.querySelector("#table td.name").getBoundingClientRect().width""") > 150)
    check_that("half of the screen is the picture", browser.run("""cairn.app.setView("flame");
        return document.getElementById("work").clientHeight / innerHeight""") >= 0.5)
    check("the roots are to be seen", browser.run("""
        const { chart } = cairn; return chart.top(0) > 0 && chart.top(0) < chart.height"""), True)
    browser.search("main")
    browser.run("document.getElementById('filter').click()")
    browser.settle()
    check("search and filters: faults", browser.run(FAULTS, LEAST), [])
    browser.run("document.getElementById('filter').click(); cairn.app.select(0)")
    browser.run("document.getElementById('details').click()")
    browser.settle()
    check_that("details have half of it", browser.run("return document.getElementById('facts').clientHeight / innerHeight") >= 0.2)
    browser.check_quiet("narrow")


def fits_a_telephone_on_its_side(browser):
    browser.resize(800, 390, touch=True)
    browser.open(flame("side", STACKS))
    check("the picture has room", browser.run("return document.getElementById('work').clientHeight >= 0.8 * innerHeight"), True)
    check("the page scrolls down only", browser.run("""
        const { scrollWidth, scrollHeight } = document.documentElement;
        return [scrollWidth <= innerWidth, scrollHeight > innerHeight]"""), [True, True])
    x, y = browser.run("""document.getElementById("work").scrollIntoView({ block: "end" });
        const { chart, tree } = cairn, box = chart.canvas.getBoundingClientRect();
        return [box.left + box.width * 0.7, box.top + chart.top(2) + 8]""")
    browser.touch([(x, y)])
    browser.lift()
    check("a tap zooms there", browser.run("return cairn.page.looks.name(cairn.state.fn)"), "run")
    browser.check_quiet("on its side")


PAPER = """
    const faults = [], inside = (one) => one.getBoundingClientRect().right <= innerWidth + 1;
    if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the paper");
    for (const one of document.querySelectorAll("canvas, td, #subtitle, #legend li, #facts dd, #facts code"))
        if (one.getClientRects().length && (!inside(one) || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible"))
            faults.push(`${one.tagName} ${one.id} ${one.textContent.slice(0, 30)} is cut`);
    const subtitle = document.getElementById("subtitle");
    if (subtitle.scrollHeight > subtitle.clientHeight) faults.push("the quality line is cut");
    for (const name of ["legend", "count", "subtitle", "title"]) if (!document.getElementById(name).getClientRects().length) faults.push(`${name} is not there`);
    for (const name of ["tools", "search", "filters"]) if (document.getElementById(name).getClientRects().length) faults.push(`${name} is there`);
    for (const { chart } of cairn.app.view.panes) if (chart.height < chart.contentHeight) faults.push("rows are missing");
    return faults;"""


def on_paper(browser, on):
    """As print does, but so that one can look: the styles of paper, and what the page does before."""
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print" if on else "", "features": [
        {"name": "prefers-color-scheme", "value": "dark"}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
    browser.run("dispatchEvent(new Event(arguments[0]))", "beforeprint" if on else "afterprint")


def prints_every_view(browser):
    frames = [[(f"function_with_a_long_name_{i}(unsigned long, std::vector<int> const&)", f"/src/{i}.cc", i + 1)] for i in range(60)]
    samples = [(frames[i % 7:], [1 + i % 3, 7], "c" * (60 - i % 7)) for i in range(20)] + [([[("idle", "", 0)]], [5, 5], "k")]
    quality = "quality: 25 samples by unwind tables, 25 whole (100.0 %), 0 cut; 0 lost; recorder 0.01 s of CPU; and more that can be said"
    browser.resize(720, 1000)
    browser.open(flame("paper", pprof(samples, comment=quality)), dark=True)
    browser.run("cairn.app.select(3)")
    browser.press("d")
    for view in ("flame", "inverted", "sandwich", "table", "tree"):
        browser.run("cairn.app.setView(arguments[0])", view)
        browser.settle()
        on_paper(browser, True)
        check(f"{view} on paper: faults", browser.run(PAPER), [])
        check(f"{view} on paper: colours", browser.run("return [cairn.app.colours.dark, getComputedStyle(document.body).backgroundColor]"),
              [False, "rgb(255, 255, 255)"])
        if view in ("flame", "table"):
            check_picture(f"paper-{view}", browser.screenshot(f"paper-{view}", 0.4))
        on_paper(browser, False)
        browser.settle()
    check("afterwards as before", browser.run("""cairn.app.setView("flame"); const { chart } = cairn, stage = document.getElementById("stage");
        return [cairn.app.colours.dark, chart.width === stage.clientWidth, chart.height === stage.clientHeight]"""), [True, True, True])
    browser.check_quiet("paper")


def prints_what_is_zoomed(browser):
    browser.open(flame("stacks", STACKS + "main;" + "deep;" * 90 + "down 50\n"), dark=True)
    high = "const { chart } = cairn; return Math.round((chart.height - chart.heightOf(0)) / (chart.heightOf(1) - chart.heightOf(0)))"
    for path, levels in (((), 92), (("main", "run"), 5)):
        browser.run("cairn.app.view.zoom(arguments[0])", browser.node(*path))
        browser.settle()
        on_paper(browser, True)
        check(f"levels of {path} on paper", browser.run(high), levels)
        on_paper(browser, False)
        browser.settle()
    browser.check_quiet("zoomed paper")


def says_what_is_not_on_paper(browser):
    browser.open(flame("deep", ";".join(f"f{i}" for i in range(900)) + " 3\n"), dark=True)
    on_paper(browser, True)
    check_that("says how many levels", re.fullmatch(r"on paper: \d+ of 901 levels", browser.text("#hidden")), browser.text("#hidden"))
    on_paper(browser, False)
    browser.resize(1280, 800)
    browser.open(flame("stacks", STACKS), dark=True)
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    check("a sheet", len(re.findall(rb"/Type /Page\b", pdf)), 1)
    browser.settle()
    check("the screen as before", browser.run("return [cairn.app.colours.dark, cairn.chart.width]"), [True, 1280])
    browser.check_quiet("printed")


def main():
    browser, page = Browser(), flame("stacks", STACKS)
    try:
        browser.resize(390, 800, touch=True)
        for test in (is_used_by_fingers, holds_and_drags):
            test(browser, page)
        for test in (selects_a_span, fits_a_telephone, fits_a_telephone_on_its_side, prints_every_view, prints_what_is_zoomed, says_what_is_not_on_paper):
            test(browser)
    finally:
        browser.close()
    finish()


main()
