#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page by mouse: the wheel, dragging, the menu of a right click and what it copies, a double click,
and that the tooltip stays in the window."""
from flame_page import Browser, check, check_that, finish, flame
from selenium.webdriver.common.action_chains import ActionChains

STACKS = "main;run;parse;copy 30\nmain;run;find;hash 25\nmain;run;walk;walk;walk 20\nidle 25\n"
CTRL, SHIFT = 2, 8  # as the DevTools protocol has them
COPIES = """Object.defineProperty(navigator, "clipboard", { value: {
    writeText: (text) => { globalThis.copied = text; return Promise.resolve(); } } });"""


def wheel(browser, x, y, dx=0, dy=0, keys=0):
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
        "type": "mouseWheel", "x": x, "y": y, "deltaX": dx, "deltaY": dy, "modifiers": keys})
    browser.settle()


def right_click(browser, x, y):
    actions = ActionChains(browser.driver, duration=0)
    actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    actions.context_click().perform()
    browser.settle()


def near(got, wanted):
    return all(abs(a - b) < 0.005 for a, b in zip(got, wanted))


def turns_the_wheel(browser, page):
    browser.open(page)
    wide, y = browser.run("return cairn.chart.width"), browser.place(browser.node("main", "run"))[1]
    wheel(browser, wide / 4, y, dy=-60, keys=CTRL)
    low, high = browser.view()
    check_that("Ctrl stretches where the pointer is", near([high - low, low + (high - low) / 4], [0.549, 0.25]), [low, high])
    wheel(browser, wide / 4, y, dx=wide / 10)
    moved = browser.view()
    check_that("to the side", near([moved[0] - low, moved[1] - moved[0]], [0.0549, 0.549]), [low, high, moved])
    wheel(browser, wide / 4, y, dy=-wide, keys=SHIFT)
    check_that("with Shift, to the edge", near(browser.view(), [0, 0.549]), browser.view())
    for _ in range(3):
        wheel(browser, wide / 2, y, dy=60, keys=CTRL)
    check("all again", browser.view(), [0, 1])
    wheel(browser, wide / 2, y, dy=100)
    check("up and down is for scrolling", browser.view(), [0, 1])
    browser.check_quiet("wheel")


def scrolls_and_drags(browser):
    browser.open(flame("high", "main;" + ";".join(f"f{i}" for i in range(100)) + " 60\nidle 40\n"))
    at = "return document.getElementById('stage').scrollTop"
    browser.wait(at + " > 0")
    below = browser.run(at)
    wheel(browser, 600, 400, dy=-300)
    browser.wait(at + " === arguments[0]", below - 300)
    browser.drag(600, 300, 600, 420)
    check("a drag scrolls, too", browser.run(at), below - 420)
    browser.run("cairn.app.view.pane.show(0.2, 0.7)")
    browser.settle()
    browser.drag(600, 420, 600 + browser.run("return cairn.chart.width") / 5, 420)
    check_that("and moves", near(browser.view(), [0.1, 0.6]), browser.view())
    check("that was no click", browser.fragment(), {})
    browser.check_quiet("dragging")


def does_what_the_menu_says(browser, page):
    browser.open(page, before=COPIES)
    item = "[...document.querySelectorAll('#menu button')].find((b) => b.textContent.startsWith(arguments[0]))"
    for what, text in (("Copy name", "hash"), ("Copy stack", "main\nrun\nfind\nhash"), ("Copy link", browser.path.as_uri())):
        right_click(browser, *browser.place(browser.node("main", "run", "find", "hash")))
        check("the menu's frame", browser.text("#menu strong"), "hash")
        browser.click_on(item, what)
        check(f"{what}: the text", browser.run("return globalThis.copied").split("#")[0], text)
        check(f"{what}: says so", browser.text("#notice"), f"{what[5:].capitalize()} copied")
    right_click(browser, *browser.place(browser.node("main", "run", "find")))
    browser.click_on(item, "Without stacks")
    check("asked by the menu", [browser.run("return cairn.tree.total[0]"), browser.text("#chips")], [75, "without find"])
    right_click(browser, *browser.place(browser.node("idle")))
    browser.drag(600, 200, 600, 200)
    check("a click elsewhere closes it", browser.run("return document.getElementById('menu').hidden"), True)
    browser.check_quiet("menu")


def looks_a_function_up(browser, page):
    browser.open(page, fragment="#view=table")
    name = browser.driver.find_element("xpath", "//td[@class='name']/button[text()='walk']")
    ActionChains(browser.driver, duration=0).double_click(name).perform()
    browser.settle()
    check("a double click in the table", [browser.fragment()["view"], browser.text("#middle strong")], ["sandwich", "walk"])
    for x, y in ((0.99, 0.5), (0.5, 0.99)):
        browser.open(page)
        box = browser.run("""const { width, height } = cairn.chart, box = cairn.chart.canvas.getBoundingClientRect();
            return [box.left + width * arguments[0], box.top + (arguments[1] > 0.9 ? height - 8 : height - 30)]""", x, y)
        actions = ActionChains(browser.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(int(box[0]), int(box[1]))
        actions.perform()
        browser.settle()
        check_that("a tooltip", browser.tip() is not None)
        check("it is in the window", browser.run("""const box = document.getElementById("tip").getBoundingClientRect();
            return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight"""), True)
    browser.check_quiet("tooltip")


def main():
    browser, page = Browser(), flame("stacks", STACKS)
    try:
        for test in (turns_the_wheel, does_what_the_menu_says, looks_a_function_up):
            test(browser, page)
        scrolls_and_drags(browser)
    finally:
        browser.close()
    finish()


main()
