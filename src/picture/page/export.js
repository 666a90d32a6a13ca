// SPDX-License-Identifier: MIT
// What is seen, as a file: PNG or SVG of the charts, and the stacks behind them as folded text.
import { byId, notice, saveFile } from "./dom.js";
import { SvgPaint } from "./paint.js";

const HEAD = 34;

const fileName = (app, ending) =>
  `${app.meta.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "cairn"}-${app.state.view}.${ending}`;

const drawn = (app) => {
  const panes = app.view.panes.filter((pane) => pane.tree);
  if (!panes.length) notice("This view is no chart: save it from Flame, Inverted or Sandwich");
  return panes;
};

export const saveSvg = (app) => {
  const panes = drawn(app);
  if (!panes.length) return;
  const style = getComputedStyle(document.documentElement), width = panes[0].chart.width;
  const height = HEAD + panes.reduce((sum, { chart }) => sum + chart.height, 0);
  const svg = new SvgPaint(panes[0].chart.paint.fitter);
  svg.begin(width, height, style.getPropertyValue("--page"));
  svg.title(app.meta.title.slice(0, 160), 10, 22, style.getPropertyValue("--text"));
  let y = HEAD;
  for (const { chart } of panes) {
    svg.parts.push(`<svg y="${y}" width="${width}" height="${chart.height}">\n`);
    chart.drawInto(svg);
    svg.parts.push("</svg>\n");
    y += chart.height;
  }
  saveFile(new Blob([svg.end()], { type: "image/svg+xml" }), fileName(app, "svg"));
};

export const savePng = (app) => {
  const panes = drawn(app);
  if (!panes.length) return;
  const style = getComputedStyle(document.documentElement), { ratio, width } = panes[0].chart, picture = document.createElement("canvas");
  picture.width = Math.round(width * ratio);
  picture.height = Math.round((HEAD + panes.reduce((sum, { chart }) => sum + chart.height, 0)) * ratio);
  const g = picture.getContext("2d");
  g.fillStyle = style.getPropertyValue("--page");
  g.fillRect(0, 0, picture.width, picture.height);
  g.fillStyle = style.getPropertyValue("--text");
  g.font = `${14 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  g.fillText(app.meta.title.slice(0, 160), 10 * ratio, 22 * ratio);
  let y = HEAD * ratio;
  for (const { canvas } of panes) { g.drawImage(canvas, 0, y); y += canvas.height; }
  picture.toBlob((blob) => saveFile(blob, fileName(app, "png")), "image/png");
};

// name;name value, of the tree as it was asked for.
export const saveFolded = (app) => {
  const tree = app.model.plain(app.question), lines = [], path = [];
  for (let i = 1; i < tree.n; i++) {
    path.length = tree.depth[i] - 1;
    path.push(app.looks.name(tree.look[i]).replaceAll(";", ":"));
    if (tree.self[i]) lines.push(`${path.join(";")} ${tree.self[i]}\n`);
  }
  saveFile(new Blob(lines, { type: "text/plain" }), fileName(app, "folded"));
};

export const listenToSaves = (app) => {
  const saves = { png: savePng, svg: saveSvg, folded: saveFolded }, menu = byId("save");
  menu.addEventListener("change", () => {
    saves[menu.value]?.(app);
    menu.value = "";
  });
};
