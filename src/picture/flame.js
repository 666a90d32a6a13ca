// SPDX-License-Identifier: MIT
// The page around the chart: zoom, search, tooltip, keys, legend, table. Names are only ever set as
// text, never as markup.
"use strict";

(async () => {
  const byId = (id) => document.getElementById(id);
  const meta = JSON.parse(byId("data-meta").textContent);
  const make = (tag, text, ...children) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    element.append(...children);
    return element;
  };
  byId("title").textContent = meta.title;
  byId("subtitle").textContent = byId("subtitle").title = meta.subtitle;

  const stage = byId("stage"), canvas = byId("canvas"), tip = byId("tip");
  const tree = await readTree(meta);
  tree.frames.kind.root = meta.kinds.length - 1;
  const chart = new Chart(canvas, tree, meta.palettes);
  let model = null; // made for who asks for it: no view does yet
  const makeModel = () => new Model(tree.page);
  const state = { zoom: 0, query: "", order: [] };

  // Numbers ------------------------------------------------------------------------------------

  const scales = {
    nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    microseconds: [[1e6, "s"], [1e3, "ms"], [1, "µs"]],
    milliseconds: [[1e3, "s"], [1, "ms"]],
    seconds: [[1, "s"]],
    bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  };
  const counted = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  const valueText = (value) => {
    const { type, unit } = meta.types[tree.shown] || { type: "", unit: "" };
    const scale = Object.hasOwn(scales, unit) && scales[unit];
    if (!scale) return `${counted(value)} ${unit === "count" ? type : unit}`.trim();
    const [size, name] = scale.find(([s]) => Math.abs(value) >= s) || scale[scale.length - 1];
    const shown = value / size;
    return `${shown.toFixed(size === 1 ? 0 : Math.abs(shown) < 10 ? 2 : 1)} ${name}`;
  };
  const percent = (value, whole) => {
    const share = whole ? (100 * value) / whole : 0;
    return `${share.toFixed(Math.abs(share) < 10 ? 2 : 1)}%`;
  };

  // View ---------------------------------------------------------------------------------------

  let pending = false;
  const redraw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      chart.scroll = stage.scrollTop;
      chart.draw();
    });
  };

  const layOut = () => {
    const below = stage.scrollHeight - stage.scrollTop - stage.clientHeight;
    byId("spacer").style.height = `${chart.contentHeight}px`;
    chart.resize(stage.clientWidth, stage.clientHeight);
    if (chart.rootsBelow) stage.scrollTop = stage.scrollHeight - stage.clientHeight - below;
    redraw();
  };

  const showRoots = () => { stage.scrollTop = chart.rootsBelow ? stage.scrollHeight : 0; };

  const showRow = (node) => {
    const y = chart.top(tree.depth[node]);
    if (y < 0) stage.scrollTop += y - 3 * ROW;
    else if (y + ROW > chart.height) stage.scrollTop += y + 4 * ROW - chart.height;
    chart.scroll = stage.scrollTop;
  };

  let moving = 0;
  const moveTo = (from, to) => {
    cancelAnimationFrame(moving);
    const start = performance.now(), before = [chart.from, chart.to];
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (now) => {
      const t = still ? 1 : Math.min(1, Math.max(0, now - start) / 170), eased = 1 - (1 - t) ** 3;
      chart.from = t === 1 ? from : before[0] + (from - before[0]) * eased;
      chart.to = t === 1 ? to : before[1] + (to - before[1]) * eased;
      chart.scroll = stage.scrollTop;
      chart.draw();
      moving = t < 1 ? requestAnimationFrame(step) : 0;
    };
    moving = requestAnimationFrame(step);
  };

  const zoom = (node, remember = true) => {
    if (!(tree.total[node] > 0)) return;
    const changed = node !== state.zoom;
    state.zoom = node;
    hideTip();
    const whole = tree.total[0];
    moveTo(tree.left[node] / whole, (tree.left[node] + tree.total[node]) / whole);
    byId("reset").disabled = node === 0 && !state.query;
    showCrumbs();
    showShare();
    if (changed && remember)
      try {
        history.pushState({ node }, "", node ? `#frame=${node}` : location.pathname + location.search);
      } catch { /* some embeddings have no history */ }
  };

  const showCrumbs = () => {
    const path = pathTo(tree, state.zoom);
    if (path.length > 60) path.splice(10, path.length - 50, -1); // nobody reads a thousand
    byId("crumbs").replaceChildren(...path.map((node) => {
      if (node < 0) return make("span", "› …");
      const name = tree.frames.name(tree.look[node]).slice(0, 200);
      const crumb = make("button", name);
      crumb.type = "button";
      crumb.title = name;
      crumb.addEventListener("click", () => zoom(node));
      return crumb;
    }));
    byId("crumbs").scrollLeft = byId("crumbs").scrollWidth;
  };

  // Search -------------------------------------------------------------------------------------

  const search = (query) => {
    state.query = query;
    const box = byId("search");
    box.classList.remove("wrong");
    chart.hits = null;
    if (query && query !== "/")
      try {
        chart.hits = find(tree.frames, query, ["name"]);
      } catch {
        box.classList.add("wrong");
      }
    byId("reset").disabled = state.zoom === 0 && !query;
    showShare();
    redraw();
  };

  const showShare = () => {
    const share = byId("share");
    share.textContent = share.title = "";
    if (!chart.hits) return;
    const sum = sumOfHits(tree, chart.hits), functions = chart.hits.reduce((a, b) => a + b, 0);
    share.textContent = percent(sum, tree.total[0]);
    share.title = `${valueText(sum)} in ${counted(functions)} functions that match`;
    if (state.zoom === 0) return;
    const above = pathTo(tree, state.zoom).some((node) => tree.look[node] >= 0 && chart.hits[tree.look[node]]);
    const whole = tree.total[state.zoom];
    const inside = above ? whole : sumOfHits(tree, chart.hits, state.zoom, state.zoom + tree.size[state.zoom]);
    share.textContent += ` · ${percent(inside, whole)} of the view`;
  };

  // Tooltip ------------------------------------------------------------------------------------

  const found = ["by unwind tables", "by frame pointers", "by a guess", "by the JIT's map", "by the Lua state", "by the kernel"];

  const tipRows = (node) => {
    const look = tree.look[node], { frames } = tree, whole = tree.total[0];
    const both = (value) => `${valueText(value)} · ${percent(value, whole)}`;
    const rows = [["total", both(tree.total[node])], ["self", both(tree.self[node])]];
    if (state.zoom) rows.push(["of the view", percent(tree.total[node], tree.total[state.zoom])]);
    if (look < 0) return rows;
    const [low, high] = frames.lines(look);
    const lines = low ? `:${low}${high > low ? `–${high}` : ""}` : "";
    if (frames.file(look)) rows.push(["source", frames.file(look) + lines]);
    if (frames.module(look)) rows.push(["module", frames.module(look)]);
    const ways = found.filter((_, bit) => (frames.found[look] >> bit) & 1);
    const kind = meta.kinds[frames.kind[look]];
    rows.push(["kind", ways.length ? `${kind}, found ${ways.join(" and ")}` : kind]);
    return rows;
  };

  const showTip = (node, x, y) => {
    const list = make("dl");
    for (const [term, text] of tipRows(node)) list.append(make("dt", term), make("dd", text));
    tip.replaceChildren(make("h2", tree.frames.name(tree.look[node]).slice(0, 2000)), list);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 16 + width < innerWidth ? x + 16 : Math.max(8, x - 16 - width);
    const top = y + 18 + height < innerHeight ? y + 18 : Math.max(8, y - 14 - height);
    tip.style.transform = `translate(${Math.min(left, Math.max(8, innerWidth - width - 8))}px, ${top}px)`;
  };

  const hideTip = () => {
    tip.hidden = true;
    if (chart.hover >= 0) { chart.hover = -1; redraw(); }
  };

  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    return chart.nodeAt(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener("mousemove", (event) => {
    const node = point(event);
    canvas.style.cursor = node >= 0 ? "pointer" : "default";
    if (node < 0) return hideTip();
    if (node !== chart.hover) { chart.hover = node; redraw(); }
    showTip(node, event.clientX, event.clientY);
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const node = point(event);
    if (node >= 0) { chart.chosen = -1; zoom(node); }
  });

  // Keys ---------------------------------------------------------------------------------------

  const widest = (node) => {
    let best = -1;
    for (let child = node + 1; child < node + tree.size[node]; child += tree.size[child])
      if (tree.total[child] > 0 && (best < 0 || tree.total[child] > tree.total[best])) best = child;
    return best;
  };
  const beside = (node, way) => {
    if (node === 0) return -1;
    const parent = pathTo(tree, node).at(-2), shown = [];
    for (let child = parent + 1; child < parent + tree.size[parent]; child += tree.size[child])
      if (tree.total[child] > 0) shown.push(child);
    return shown[shown.indexOf(node) + way] ?? -1;
  };

  const choose = (node) => {
    if (node < 0) return;
    chart.chosen = node;
    showRow(node);
    redraw();
    const [x, w] = chart.extent(node), box = canvas.getBoundingClientRect();
    showTip(node, box.left + x + Math.min(w / 2, 60), box.top + chart.top(tree.depth[node]) + ROW / 2);
    byId("spoken").textContent = `${tree.frames.name(tree.look[node]).slice(0, 300)}, ${percent(tree.total[node], tree.total[0])}`;
  };

  const reset = () => {
    chart.chosen = -1;
    byId("search").value = "";
    search("");
    zoom(0);
  };

  const flip = () => {
    chart.rootsBelow = !chart.rootsBelow;
    layOut();
    showRoots();
    redraw();
  };

  const keys = {
    ArrowUp: (at) => choose(chart.rootsBelow ? widest(at) : pathTo(tree, at).at(-2) ?? -1),
    ArrowDown: (at) => choose(chart.rootsBelow ? pathTo(tree, at).at(-2) ?? -1 : widest(at)),
    ArrowLeft: (at) => choose(beside(at, -1)),
    ArrowRight: (at) => choose(beside(at, 1)),
    Enter: (at) => zoom(at),
    "/": () => byId("search").select(),
    Escape: reset,
    i: flip,
    t: () => toggleTable(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select");
    const pressing = event.target.closest("button") && event.key === "Enter";
    if (pressing || (typing && event.key !== "Escape") || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    if (typing) typing.blur();
    keys[event.key](chart.chosen >= 0 ? chart.chosen : state.zoom);
  });

  // Legend and table ---------------------------------------------------------------------------

  const showLegend = () => {
    const sums = new Float64Array(meta.kinds.length), { kind } = tree.frames;
    for (let i = 1; i < tree.n; i++) sums[kind[tree.look[i]]] += tree.self[i];
    const present = new Set(kind);
    const colours = meta.palettes[chart.dark ? "dark" : "light"].kinds;
    byId("legend").replaceChildren(...meta.kinds.flatMap((name, k) => {
      if (!present.has(k) || k === kind.root) return [];
      const swatch = make("canvas");
      swatch.width = colours[k].length;
      swatch.height = 1;
      const g = swatch.getContext("2d");
      colours[k].forEach((colour, i) => { g.fillStyle = colour; g.fillRect(i, 0, 1, 1); });
      const share = sums[k] ? ` ${percent(sums[k], tree.total[0])}` : "";
      const item = make("li", "", swatch, name + share);
      item.title = `${share ? "" : "no "}self value in ${name} frames`;
      return [item];
    }));
  };

  const functionRows = () => {
    const { self, total } = tally(tree, tree.frames.n);
    return Array.from(self, (_, k) => ({ k, self: self[k], total: total[k] }))
      .sort((a, b) => b.self - a.self || b.total - a.total || a.k - b.k);
  };

  const fillTable = () => {
    const head = make("tr", "", ...["self", "", "total", "", "function", "module"].map((text) => make("th", text)));
    const rows = functionRows().slice(0, 200).map(({ k, self, total }) => {
      const name = make("td", tree.frames.name(k).slice(0, 1000));
      name.title = "search for it";
      name.addEventListener("click", () => {
        const text = tree.frames.name(k);
        byId("search").value = text;
        search(text);
      });
      return make("tr", "", make("td", valueText(self)), make("td", percent(self, tree.total[0])),
                  make("td", valueText(total)), make("td", percent(total, tree.total[0])), name,
                  make("td", tree.frames.module(k)));
    });
    byId("table").replaceChildren(make("table", "", make("thead", "", head), make("tbody", "", ...rows)));
  };

  const toggleTable = () => {
    const table = byId("table");
    table.hidden = !table.hidden;
    byId("list").setAttribute("aria-expanded", String(!table.hidden));
    if (!table.hidden) fillTable();
  };

  // Start --------------------------------------------------------------------------------------

  const showValues = (type) => {
    showType(tree, type);
    const whole = tree.total[0];
    byId("status").textContent = whole > 0 ? "" : "No samples: there is nothing to draw.";
    byId("count").textContent = `${counted(tree.n - 1)} frames · ${valueText(whole)}`;
    canvas.setAttribute("aria-label", `Flame graph of ${counted(tree.n - 1)} frames, ${valueText(whole)}. Arrow keys walk through it; the button Functions lists the same as a table.`);
  };

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const dress = () => { chart.dark = dark.matches; showLegend(); redraw(); };
  const nodeOfHash = () => {
    const node = Number(/^#frame=(\d+)$/.exec(location.hash)?.[1] ?? 0);
    return node < tree.n && tree.total[node] > 0 ? node : 0;
  };

  const select = byId("type");
  meta.types.forEach(({ type, unit }, i) => {
    const option = make("option", unit === "count" || !unit ? type : `${type} (${unit})`);
    option.value = String(i);
    select.append(option);
  });
  select.hidden = meta.types.length < 2;
  select.value = String(meta.shown);
  select.addEventListener("change", () => {
    showValues(Number(select.value));
    zoom(tree.total[state.zoom] > 0 ? state.zoom : 0);
    showLegend();
    if (!byId("table").hidden) fillTable();
  });

  if (meta.types.length) showValues(meta.shown);
  else byId("status").textContent = "No samples: there is nothing to draw.";
  if (tree.total[0] > 0) {
    chart.dark = dark.matches;
    layOut();
    showRoots();
    const node = nodeOfHash();
    if (node) zoom(node, false);
    else showCrumbs();
  }
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("search").addEventListener("keydown", (event) => { if (event.key === "Enter") canvas.focus(); });
  byId("flip").addEventListener("click", flip);
  byId("list").addEventListener("click", toggleTable);
  byId("reset").addEventListener("click", reset);
  stage.addEventListener("scroll", redraw);
  addEventListener("popstate", () => zoom(nodeOfHash(), false));
  dark.addEventListener("change", dress);
  new ResizeObserver(layOut).observe(stage);
  requestAnimationFrame(() => setTimeout(() => {
    // For whoever measures and tests: by now the picture is on the screen.
    globalThis.cairn = { tree, chart, get model() { return (model ??= makeModel()); }, state, drawnAt: performance.now(), isStill: () => !moving && !pending };
    dress();
  }));
})().catch((error) => {
  document.getElementById("status").textContent = `This page is damaged: ${error.message}`;
  throw error;
});
