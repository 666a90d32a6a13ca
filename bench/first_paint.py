#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first_paint.py PAGE.html [RUNS]: what people wait for in a page of `cairn flame`, measured by the page
itself in headless Chromium; each run is a new browser, the medians and the worst run are printed. From
opening, or from asking, until it is drawn; a redraw counts until its pixels are there. Needs chromium,
chromium-driver and python3-selenium."""
import os
import pathlib
import statistics
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

MEASURE = """
const done = arguments[0], { app, state, page, chart, tree } = cairn;
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const timed = (work) => { const start = performance.now(); work(); return performance.now() - start; };
const draw = () => { chart.draw(); chart.paint.g.getImageData(0, 0, 1, 1); };

// What was asked is drawn when a frame has passed that left nothing of it to the next one.
const drawn = () => new Promise((tell) => {
  const look = () => requestAnimationFrame(() => setTimeout(() =>
    app.view.panes.some((pane) => pane.pending || pane.moving) ? look() : tell()));
  look();
});
const asked = async (values) => {
  const start = performance.now();
  state.set(values, true);
  await drawn();
  return performance.now() - start;
};
const still = async () => { do await drawn(); while (!cairn.isStill()); };

(async () => {
  const results = { "first paint": cairn.drawnAt };
  await still();
  results.redraw = median(Array.from({ length: 20 }, () => timed(draw)));
  results.zoom = median(Array.from({ length: 20 }, (_, k) => {
    const node = Math.floor(tree.n * (k + 0.5) / 20), whole = tree.total[0];
    chart.from = tree.left[node] / whole;
    chart.to = (tree.left[node] + tree.total[node]) / whole;
    return timed(draw);
  }));
  Object.assign(chart, { from: 0, to: 1 });

  const searches = [];
  for (const q of ["/fn12/", "ns3", "fn4999", "/^ns[0-9]::fn.*7$/", "main"]) {
    searches.push(await asked({ q }));
    if (!document.getElementById("share").textContent) throw new Error(`no share for ${q}`);
    await still();
  }
  results.search = Math.max(...searches);
  await asked({ q: "" });
  await still();

  results.inverted = await asked({ view: "inverted" });
  await still();
  const { total, self } = app.model.functions(app.question), most = (column) => column.indexOf(Math.max(...column));
  const sandwiches = [];
  for (const fn of [most(total), most(self)]) {
    sandwiches.push(await asked({ view: "sandwich", fn }));
    await still();
    await asked({ view: "flame" });
  }
  results.sandwich = Math.max(...sandwiches);
  done([page.n - 1, results]);
})().catch((error) => done([String(error)]));
"""

ORDER = ("first paint", "redraw", "zoom", "search", "inverted", "sandwich", "heap MB")


def heap_mb(driver):
    """Columns lie beside the heap of the script."""
    usage = driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return (usage["usedSize"] + usage.get("backingStorageSize", 0)) / 2 ** 20


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
            driver.set_script_timeout(120)
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-reduced-motion", "value": "reduce"}]})
            driver.get(pathlib.Path(page).resolve().as_uri())
            while not driver.execute_script("return !!globalThis.cairn"):
                time.sleep(0.05)
            heap = heap_mb(driver)
            frames, results = driver.execute_async_script(MEASURE)
            return driver.capabilities["browserVersion"], frames, {**results, "heap MB": heap}
        finally:
            driver.quit()


def main():
    before = os.getloadavg()[0]
    runs = [measure(sys.argv[1]) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)]
    version, frames, _ = runs[0]
    print(f"{frames:,} frames, {pathlib.Path(sys.argv[1]).stat().st_size / 1e6:.2f} MB, Chromium {version}, "
          f"{len(runs)} runs, load {before:.1f}")
    print(f"{'':12} {'median':>8} {'worst':>8}  ms")
    for name in ORDER:
        column = [results[name] for _, _, results in runs]
        print(f"{name:12} {statistics.median(column):8.1f} {max(column):8.1f}")


main()
