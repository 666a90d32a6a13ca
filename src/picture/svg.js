// SPDX-License-Identifier: MIT
// Zoom and search for the SVG: click a frame, or press / and type.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const frames = byId("frames");
  const margin = Number(frames.dataset.margin);
  const charWidth = Number(frames.dataset.char);
  const width = document.documentElement.viewBox.baseVal.width;

  const nodes = [...frames.children].map((g) => {
    const [title, rect, text] = g.children;
    const shown = title.textContent;
    const name = shown.split("\n")[0].replace(/ \([^()]*\)$/, "");
    const x = Number(rect.getAttribute("x"));
    return { g, rect, text, shown, name, x, w: Number(rect.getAttribute("width")),
             y: Number(rect.getAttribute("y")) };
  });
  const root = nodes[0];
  let view = root;
  let pattern = null;

  const fit = (name, w) => {
    const n = Math.floor((w - 6) / charWidth);
    if (n < 3) return "";
    const runes = [...name.slice(0, 4 * n)];
    return runes.length <= n ? runes.join("") : runes.slice(0, n - 2).join("") + "..";
  };

  const place = (node, x, w) => {
    node.rect.setAttribute("x", x);
    node.rect.setAttribute("width", w);
    node.text.setAttribute("x", Math.max(x, margin) + 3);
    node.text.textContent = fit(node.name, w);
  };

  const slack = 1e-3; // coordinates are rounded to 1e-4
  const zoom = (to) => {
    view = to;
    const scale = root.w / to.w;
    for (const node of nodes) {
      const under = node.y <= to.y && node.x >= to.x - slack &&
                    node.x + node.w <= to.x + to.w + slack;
      const over = node.y > to.y && node.x <= to.x + slack &&
                   node.x + node.w >= to.x + to.w - slack;
      node.g.style.display = under || over ? "" : "none";
      node.rect.classList.toggle("parent", over);
      if (over) place(node, root.x, root.w);
      else if (under) place(node, margin + (node.x - to.x) * scale, node.w * scale);
    }
    byId("reset").style.visibility = to === root ? "hidden" : "visible";
    if (pattern) search(pattern);
  };

  // The share of the whole in which a match occurs: what lies above a match is not counted again.
  const search = (wanted) => {
    pattern = wanted;
    const hits = nodes.filter((node) => {
      const hit = wanted !== null && wanted.test(node.name);
      node.rect.classList.toggle("hit", hit);
      return hit && node.g.style.display !== "none";
    });
    hits.sort((a, b) => a.x - b.x || b.w - a.w);
    let end = -1, sum = 0;
    for (const hit of hits)
      if (hit.x > end - slack) {
        sum += Math.min(hit.w, view.w);
        end = hit.x + hit.w;
      }
    byId("matched").textContent = wanted ? `Matched: ${((100 * sum) / view.w).toFixed(1)}%` : " ";
    byId("search").textContent = wanted ? "Reset search" : "Search";
    byId("search").classList.toggle("on", wanted !== null);
  };

  const ask = () => {
    if (pattern) return search(null);
    const typed = prompt("Search for functions (regular expressions allowed)", "");
    if (!typed) return;
    let wanted;
    try {
      wanted = new RegExp(typed);
    } catch {
      wanted = new RegExp(typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    }
    search(wanted);
  };

  for (const node of nodes) {
    node.g.addEventListener("click", () => zoom(node));
    node.g.addEventListener("mouseenter", () => {
      byId("details").textContent = node.shown.split("\n")[0].slice(0, Math.floor(width / charWidth));
    });
    node.g.addEventListener("mouseleave", () => { byId("details").textContent = " "; });
  }
  byId("reset").addEventListener("click", () => zoom(root));
  byId("search").addEventListener("click", ask);
  addEventListener("keydown", (event) => {
    if (event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape") {
      if (pattern) search(null);
      else zoom(root);
    }
  });
})();
