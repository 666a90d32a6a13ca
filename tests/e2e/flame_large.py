#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A million different stacks in the browser: no frame is left out, and every view, a search, a filter of
frames and a zoom say what the profile has."""
from flame_page import WORK, Browser, check, finish, flame

# Each stack is main, one of A of those it calls, and so on; the last is told apart by its number.
A, B, C, D = 10, 20, 50, 100
STACKS = A * B * C * D


def stacks():
    for i in range(STACKS):
        a, b, c, d = i // (B * C * D), i // (C * D) % B, i // D % C, i % D
        yield f"main;app::run{a};app::step{b}(int);lib::find{c};lib::leaf{d} {1 + (i & 1)}\n"


def totals(browser, *names):
    """Of the first node of each path from the root."""
    node = browser.node(*names)
    return browser.run("return [cairn.tree.total[arguments[0]], cairn.tree.self[arguments[0]]]", node) if node >= 0 else None


def holds_all(browser, whole):
    check("every frame", browser.run("return cairn.tree.n - 1"), 1 + A + A * B + A * B * C + STACKS)
    check("every stack", browser.run("return cairn.tree.self.reduce((n, own) => n + (own > 0), 0)"), STACKS)
    check("their sum", browser.run("return cairn.tree.total[0]"), whole)
    check("a function", totals(browser, "main", "app::run3"), [whole / A, 0])
    check("a leaf", totals(browser, "main", "app::run9", "app::step19(int)", "lib::find49", "lib::leaf99"), [2, 2])
    browser.search("/::leaf[0-4]$/")
    check("what a search finds", browser.text("#share"), "4.67%")  # 1 + 2 + 1 + 2 + 1 of 150
    browser.press("n", "n")
    check("from match to match", browser.text("#nth"), f"2 / {STACKS // 20:,}")
    browser.search("")


def opens_every_view(browser, whole):
    for key, view in zip("2345", ("inverted", "sandwich", "table", "tree")):
        browser.press(key)
        check(f"view {view}", browser.fragment().get("view"), view)
        browser.check_quiet(view)
        if view == "inverted":
            check("who calls a leaf", totals(browser, "lib::leaf7", "lib::find8"), [2 * STACKS / D / C, 0])
        if view == "table":
            check("the caption", browser.text("#table caption"), f"{1 + A + B + C + D} functions")
            check("a function that ends all", browser.run(
                "return [...document.querySelectorAll('#table tbody tr')][0].cells[0].firstChild.nextSibling.textContent"),
                  f"{2 * STACKS // D:,} samples")
    browser.press("1", "o")
    check("by weight", browser.run("return cairn.tree.total[cairn.tree.childrenOf(1)[0]]"), whole / A)
    browser.press("o")


def asks_and_zooms(browser, whole):
    browser.point(browser.node("main", "app::run3"), click=True)
    check("a zoom", browser.view(), [0.3, 0.4])
    check("the overview stands beside it", browser.run("return document.getElementById('overview').hidden"), False)
    browser.press("f")
    check("only through it", [browser.run("return cairn.tree.total[0]"), browser.view()], [whole / A, [0, 1]])
    browser.press("0")
    check("all again", browser.run("return cairn.tree.total[0]"), whole)
    browser.check_quiet("zoom")


def main():
    page = flame("large", "".join(stacks()))
    (WORK / "large.in").unlink()
    browser, whole = Browser(), STACKS * 3 // 2
    try:
        browser.open(page)
        for test in (holds_all, opens_every_view, asks_and_zooms):
            test(browser, whole)
    finally:
        browser.close()
    finish()


main()
