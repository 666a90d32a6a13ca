#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first_paint.py PAGE.html [RUNS]: how long a page of `cairn flame` takes from being opened to being
drawn in headless Chromium, and how long it then takes to draw, zoom and search. Each run is a new
browser. Needs chromium, chromium-driver and python3-selenium."""
import pathlib
import statistics
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

MEASURE = """
const { chart, tree } = cairn;
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const timed = (work) => { const start = performance.now(); work(); return performance.now() - start; };
const redraws = Array.from({ length: 20 }, () => timed(() => chart.draw()));
const zooms = Array.from({ length: 20 }, (_, k) => {
  const node = Math.floor(tree.n * (k + 0.5) / 20), whole = tree.total[0];
  chart.from = tree.left[node] / whole;
  chart.to = (tree.left[node] + tree.total[node]) / whole;
  return timed(() => chart.draw());
});
chart.from = 0;
chart.to = 1;
const box = document.getElementById("search");
box.value = "/fn12/";
const search = timed(() => box.dispatchEvent(new Event("input")));
return [cairn.drawnAt, tree.n - 1, median(redraws), median(zooms), search,
        (performance.memory?.usedJSHeapSize ?? 0) / 2 ** 20];
"""


def measure(page):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as folder:
        for word in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--window-size=1400,900",
                     f"--user-data-dir={folder}"):
            options.add_argument(word)
        driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        try:
            driver.get(pathlib.Path(page).resolve().as_uri())
            while not driver.execute_script("return !!globalThis.cairn"):
                time.sleep(0.05)
            return driver.execute_script(MEASURE)
        finally:
            driver.quit()


def main():
    runs = [measure(sys.argv[1]) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)]
    first, frames, redraw, zoom, search, heap = map(statistics.median, zip(*runs))
    print(f"{frames:,.0f} frames: drawn {first / 1000:.2f} s after opening (worst of {len(runs)}: "
          f"{max(run[0] for run in runs) / 1000:.2f} s), redraw {redraw:.1f} ms, zoomed {zoom:.1f} ms, "
          f"search {search:.0f} ms, heap {heap:.0f} MB")


main()
