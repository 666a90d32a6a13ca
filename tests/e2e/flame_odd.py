#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Odd profiles in every view of the page: names that want to be markup, nothing at all, one frame,
stacks 5,000 deep, recursion, values of nothing; and what is saved of them."""
import base64

from flame_page import HOSTILE, Browser, check, check_that, finish, flame, pprof, pprof_of_threads
from selenium.webdriver.common.keys import Keys

COUNTS = """return ["script", "img", "iframe", "object", "embed", "link", "a", "b", "style", "h1", "title"]
    .map((tag) => document.getElementsByTagName(tag).length)"""

# Catches what would be saved, as text or as the beginning of a PNG.
SAVED = """
    const done = arguments[arguments.length - 1], make = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
        URL.createObjectURL = make;
        blob.arrayBuffer().then((bytes) => done(btoa([...new Uint8Array(bytes)].map((b) => String.fromCharCode(b)).join(""))));
        return "#";
    };
    HTMLAnchorElement.prototype.click = () => {};
    const menu = document.getElementById("save");
    menu.value = arguments[0];
    menu.dispatchEvent(new Event("change"));"""


def saved(browser, what):
    browser.driver.set_script_timeout(20)
    return base64.b64decode(browser.driver.execute_async_script(SAVED, what))


def every_view(browser, name):
    for key in "123456":
        browser.press(key)
        browser.press(Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER, "d", "i", "o", "d")
        browser.screenshot(f"{name}-{key}", 0.25)
    browser.press("1", "/", "x", Keys.ENTER, Keys.ESCAPE, "0")
    browser.press("r", "?", Keys.ESCAPE)
    check(f"{name}: nothing is wider than the window", browser.run(
        "return document.documentElement.scrollWidth <= innerWidth"), True)
    browser.check_quiet(name)


def hostile_names(browser):
    names = [name for name in HOSTILE if isinstance(name, str)]
    rows = [([name, "main", f"{name} outside"], name, i, 10 * i, 1 + i) for i, name in enumerate(names)]
    browser.open(flame("plain", pprof_of_threads([(["a", "b"], "c", 1, 0, 1)])))
    usual = browser.run(COUNTS)
    browser.open(flame("hostile", pprof_of_threads(rows)))
    browser.run("document.getElementById('filter').click()")
    every_view(browser, "hostile")
    browser.run("for (const box of document.querySelectorAll('#filters fieldset:nth-child(2) input')) box.click()")
    browser.settle()
    for key in "123456":
        browser.press(key)
        check(f"hostile names in view {key}", browser.run(COUNTS), usual)
    browser.press("1")
    for node in range(1, 8):
        browser.point(node)
        browser.press("m", Keys.ESCAPE)
    check("elements", browser.run(COUNTS), usual)
    svg = saved(browser, "svg").decode()
    check_that("the saved SVG holds no markup of theirs", "<img" not in svg and "<script" not in svg, svg[:300])
    check("hacked", browser.run("return globalThis.hacked ?? null"), None)
    browser.check_quiet("hostile")


def nothing_at_all(browser):
    browser.open(flame("empty", pprof([])))
    every_view(browser, "empty")
    check("says so", browser.text("#status"), "No samples: there is nothing to draw.")
    browser.open(flame("zeros", pprof([([[("main", "", 0)]], [0, 0], "c")])))
    every_view(browser, "zeros")


def one_frame(browser):
    browser.open(flame("one", "main 7\n"))
    check("one frame", [browser.run("return cairn.tree.n"), browser.text("#count")], [2, "1 frame · 7 samples"])
    every_view(browser, "one")
    check("folded", saved(browser, "folded"), b"main 7\n")
    check("a PNG", saved(browser, "png")[:8], b"\x89PNG\r\n\x1a\n")


def deep_stacks(browser):
    names = [f"f{i % 50}" for i in range(5000)]
    browser.open(flame("deep", ";".join(names) + " 3\n" + ";".join(names[:4000]) + " 4\n"))
    check("all of it", browser.run("return cairn.tree.deepest"), 5000)
    browser.press("2")
    browser.wait("return cairn.tree.deepest === 5000")
    browser.press("5", Keys.ARROW_RIGHT, Keys.ARROW_DOWN, "1")
    node = browser.run("return cairn.tree.n - 1")
    browser.open(browser.path, fragment=f"#frame={node}")
    check("the deepest fills the view", browser.view(), [0, round(3 / 7, 6)])
    check("crumbs are few", browser.run("return document.querySelectorAll('#crumbs > *').length") <= 60, True)
    every_view(browser, "deep")


def recursion(browser):
    browser.open(flame("recursion", "f;" * 40 + "f 5\n" + "f;g;" * 20 + "f 6\n"))
    table = """const { self, total, places } = cairn.model.functions(cairn.app.question), { looks } = cairn.page;
        return Object.fromEntries(Array.from({ length: looks.n }, (_, k) => [looks.name(k), [self[k], total[k], places[k]]]))"""
    check("each stack once", browser.run(table), {"f": [11, 11, 61], "g": [0, 6, 20]})
    browser.press("r")
    check("collapsed", browser.run(table), {"f": [11, 11, 21], "g": [0, 6, 20]})
    every_view(browser, "recursion")


def main():
    browser = Browser()
    try:
        for test in (hostile_names, nothing_at_all, one_frame, deep_stacks, recursion):
            test(browser)
    finally:
        browser.close()
    finish()


main()
