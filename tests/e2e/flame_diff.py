#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two profiles in one page: what is new, gone, more and less in each view, scaled to one sum or not,
also where they share nothing at all."""
from flame_page import WORK, Browser, check, check_that, finish, flame
from selenium.webdriver.common.keys import Keys

OLD = """\
main;run;parse 20
main;run;find;hash 25
main;run;gone;away 5
"""
NEW = """\
main;run;parse 60
main;run;find;hash 20
main;run;fresh 20
"""

CHANGES = """
    const { tree, page } = cairn, rows = {};
    const go = (node, path) => {
        for (const child of tree.childrenOf(node)) {
            const name = path + "/" + page.looks.name(tree.look[child]);
            rows[name] = [tree.total[child], tree.delta[child]];
            go(child, name);
        }
    };
    go(0, "");
    return rows;"""


def diff(name, new, old):
    (WORK / "old.in").write_text(old)
    return flame(name, new, f"--diff={WORK / 'old.in'}")


def shows_what_changed(browser):
    page = diff("new", NEW, OLD)
    browser.open(page)
    check("what both say of themselves", browser.text("#subtitle").split("\n"), [
        "100 samples · 6 functions", "before: old.in · 50 samples · 7 functions"])
    run = "/main/run"
    scaled = {"/main": [100, 0], run: [100, 0], run + "/parse": [60, 20], run + "/find": [20, -30],
              run + "/find/hash": [20, -30], run + "/fresh": [20, 20]}
    check("scaled to one sum", browser.run(CHANGES), scaled)
    browser.point(browser.node("main", "run", "find"))
    tip = browser.tip()
    check("tooltip", [tip["new"], tip["old"], tip["change"]], ["20 samples", "50 samples", "−30 samples · −60.0%"])
    browser.open(page, fragment="#absolute=1")
    check("as they are", browser.run(CHANGES)[run + "/find"], [20, -5])
    browser.open(page, fragment="#width=old")
    check("what is gone", browser.run(CHANGES)[run + "/gone/away"], [10, -10])
    check("what is new is not there", run + "/fresh" in browser.run(CHANGES), False)
    browser.open(page, fragment="#width=both&view=inverted")
    rows = browser.run(CHANGES)
    check("inverted", [rows["/away"], rows["/hash/find/run/main"]], [[10, -10], [70, -30]])
    check("colours", browser.run("""const { colours } = cairn.app, of = (change) => colours.of(1, 0, change);
        return [of(1) === of(0), of(-1) === of(1), of(0.5) === of(1)]"""), [False, False, False])
    browser.open(page, fragment="#view=sandwich")
    browser.press("4")
    browser.run("[...document.querySelectorAll('#table th button')].find((b) => b.textContent === 'change').click()")
    browser.settle()
    rows = browser.run("""return [...document.querySelectorAll("#table tbody tr")].map((row) =>
        [row.querySelector(".name").textContent, row.cells[2].textContent])""")
    check("the largest changes", rows[:3], [["find", "−30 samples · −60.0%"], ["hash", "−30 samples · −60.0%"],
                                            ["fresh", "+20 samples"]])
    check_that("what is gone is in the table", ["away", "−10 samples · −100.0%"] in rows, rows)
    for key in "123456":
        browser.press(key, Keys.ARROW_UP, Keys.ENTER, "d", "o", "d")
    browser.check_quiet("diff")


def shows_disjoint_ones(browser):
    browser.open(diff("disjoint", "a;b 10\n", "c;d 30\n"), fragment="#width=both")
    check("two halves", browser.run(CHANGES), {"/a": [10, 10], "/a/b": [10, 10], "/c": [10, -10], "/c/d": [10, -10]})
    browser.check_quiet("disjoint")


def main():
    browser = Browser()
    try:
        shows_what_changed(browser)
        shows_disjoint_ones(browser)
    finally:
        browser.close()
    finish()


main()
