#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every view of the page, of a comparison and of a heap, in both themes and on a narrow screen, held
against pictures of before: tests/data/flame, see check_picture()."""
import base64
import json
import zlib

from flame_page import WORK, Browser, check, check_picture, check_that, finish, flame, pprof_of_threads
from selenium.webdriver.common.keys import Keys

CALLS = (("parse", "run"), ("copy", "parse", "run"), ("hash", "find", "run"), ("find", "run"), ("walk", "walk", "walk", "run"),
         ("entry", "write", "run"), ("malloc", "append", "parse", "run"), ("idle",))
OLD = "main;run;parse 20\nmain;run;find;hash 25\nmain;run;gone;away 5\n"
NEW = "main;run;parse 60\nmain;run;find;hash 20\nmain;run;fresh 20\n"
VIEWS = ("flame", "inverted", "sandwich", "table", "tree", "timeline")


def threads():
    rows = []
    for at in range(0, 2000, 8):
        call = CALLS[(at // 8 * 5 + at // 400) % len(CALLS)]
        rows.append(([*call, "main", "_start"], ("work", "wait", "disk")[at % 3], 10 + at % 3, at, 1 + at // 8 % 4))
    return flame("threads", pprof_of_threads(rows))


def column(numbers):
    """As picture/column.h writes it: planes of bytes, low ones first."""
    planes = []
    while numbers and (not planes or any(numbers)):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        planes.append(base64.b64encode(deflate.compress(bytes(n & 255 for n in numbers)) + deflate.flush()).decode())
        numbers = [n >> 8 for n in numbers]
    return ".".join(planes)


def heap():
    """A page with lines above it: those of a real heap are never twice the same."""
    page = flame("heap", "main;load;malloc 70\nmain;keep;malloc 30\n")
    text = page.read_text()
    times = [100 * k for k in range(21)]
    live = [(k % 7 + k) << 20 for k in range(21)]
    lines = [("live", "bytes", times, live), ("resident", "bytes", times, [value + (6 << 20) for value in live]),
             ("mark", "count", [700, 1500], [1, 2])]
    more = "".join(f'<script type="text/plain" id="data-line-{what}-{i}">{column(numbers)}</script>\n'
                   for i, (_, _, at, values) in enumerate(lines)
                   for what, numbers in (("time", at), ("value", [2 * value for value in values])))
    meta = json.dumps([{"name": name, "unit": unit} for name, unit, _, _ in lines])
    check("the page has no lines yet", text.count('"lines":[]'), 1)
    before, mark, rest = text.replace('"lines":[]', f'"lines":{meta}').partition('<script type="text/plain" id="data-steps"')
    page.write_text(before + more + mark + rest)
    return page


# Of text on what it stands on, by the luminances of WCAG 2: what is below the least, by name.
CONTRASTS = """
    const [least] = arguments, g = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }), style = getComputedStyle(document.documentElement);
    const luminance = (colour) => {
        g.fillStyle = colour;
        g.fillRect(0, 0, 1, 1);
        const [red, green, blue] = [...g.getImageData(0, 0, 1, 1).data].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (a, b) => { const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
    const faults = {}, look = (name, text, papers) => {
        const worst = Math.min(...papers.map((paper) => contrast(text, paper)));
        if (!(worst >= least)) faults[name] = worst;
    };
    const { colours, looks } = cairn.app, { palette } = colours, { by, looks: own } = colours, some = Array.from({ length: 400 }, (_, k) => k);
    for (const name of ["--text", "--faint"])
        look(name, style.getPropertyValue(name), ["--page", "--raised", "--hover", "--line"].map((paper) => style.getPropertyValue(paper)));
    look("kinds", palette.text, palette.kinds.flat());
    look("hits", palette.hitText, [palette.hit]);
    colours.looks = { ...own, module: (k) => `lib${k}.so` };
    for (const name of ["module", "share", "change", "safe"]) {
        colours.set(name, colours.dark);
        look(name, palette.text, some.map((k) => colours.of(k, k / 399, k / 199.5 - 1)));
    }
    colours.looks = own;
    colours.set(by, colours.dark);
    return faults;"""


def shoot(browser, name, scale=0.25):
    check_picture(name, browser.screenshot(name, scale))


def draws_every_view(browser, page, theme):
    browser.open(page, dark=theme == "dark")
    for key, view in zip("123456", VIEWS):
        browser.press(key)
        if view == "tree":
            browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        shoot(browser, f"{view}-{theme}")
    browser.press("1", "i", Keys.ARROW_DOWN, Keys.ARROW_DOWN, "d")
    browser.press("/", *"walk", Keys.ENTER)
    browser.run("document.getElementById('filter').click()")
    browser.settle()
    shoot(browser, f"icicle-{theme}")
    check(f"{theme}: what is hard to read", browser.run(CONTRASTS, 4.5), {})
    browser.check_quiet(theme)


def draws_comparisons_and_heaps(browser, theme):
    (WORK / "old.in").write_text(OLD)
    browser.open(flame("new", NEW, f"--diff={WORK / 'old.in'}"), dark=theme == "dark", fragment="#width=both")
    shoot(browser, f"diff-{theme}")
    browser.open(heap(), dark=theme == "dark")
    check_that("the lines say their most", "at most 27.3 MB, at the end 27.3 MB" in browser.text("#lines"), browser.text("#lines"))
    shoot(browser, f"heap-{theme}")
    browser.check_quiet(f"heap, {theme}")


def draws_on_narrow_screens(browser, page):
    browser.resize(390, 800, touch=True)
    browser.open(page)
    for view in VIEWS:
        browser.run("cairn.app.setView(arguments[0])", view)
        browser.settle()
        shoot(browser, f"narrow-{view}", 0.4)
    browser.check_quiet("narrow")


def main():
    browser, page = Browser(), threads()
    try:
        for theme in ("light", "dark"):
            draws_every_view(browser, page, theme)
            draws_comparisons_and_heaps(browser, theme)
        draws_on_narrow_screens(browser, page)
    finally:
        browser.close()
    finish()


main()
