// SPDX-License-Identifier: MIT
// A heap over time: what lived, as far as its tracker knows. Of each block that lives at the end it knows the
// epoch that it was born in, so these stand by stack, the largest 20 and the rest; of what was freed it knows
// only how much there was, which is the area above them.
import { byId, make } from "./dom.js";
import { inUnit } from "./format.js";
import { framesOf, hideTip, showRows } from "./tip.js";
import { AXIS, SMALL_FONT, lastAt, momentText, roundStep, timeText } from "./time_axis.js";
import { labelOf } from "./threads.js";

const SHOWN = 20, TYPE = "inuse_space", PAD = 8, TEXT = 13; // pixels: free below, height of a text

export const isHeapOverTime = (page) => Boolean(page.rows?.[0]?.time) && page.types.some(({ type }) => type === TYPE);

// Neighbours come far from each other; in both themes readable beside their names.
const colourOf = (rank, dark) => (rank === SHOWN ? (dark ? "#6b665d" : "#b9b3a7") : `hsl(${(28 + rank * 137.5) % 360} ${dark ? "38% 42%" : "56% 66%"})`);

export class HeapChart {
  constructor(view) {
    this.view = view;
    this.type = view.app.page.types.findIndex(({ type }) => type === TYPE);
    const { lines } = view.app.page, line = (name) => lines.find((one) => one.name === name && one.time.length);
    const inUs = (one) => one && { time: one.time.map((ms) => ms * 1e3), value: one.value };
    this.live = inUs(line("live")); // where births are of several processes, no line is of all of them
    this.peak = this.live && inUs(line("peak"));
    this.marks = this.live && inUs(line("mark"));
    this.until = lines.reduce((most, { time }) => Math.max(most, (time[time.length - 1] ?? 0) * 1e3), 1);
    for (const at of view.app.page.rows[0].time) if (at > this.until) this.until = at;
    // When epochs began: between two of them nothing is known.
    this.moments = [...new Set([0, ...(this.live?.time ?? []), ...view.app.page.rows[0].time.filter((at) => at >= 0), this.until])].sort((a, b) => a - b);
  }

  // A span asks what was born in it and lives: of that the values of the peak say nothing. It begins and
  // ends with an epoch.
  spanOf([from, to]) {
    const { moments } = this, near = (at) => moments.reduce((best, k) => (Math.abs(k - at) < Math.abs(best - at) ? k : best));
    const low = near(from), high = moments[Math.max(lastAt(moments, near(to)), lastAt(moments, low) + 1)] ?? this.until;
    return { span: [low, high >= this.until ? this.until : high - 1], type: this.type };
  }

  // By keys, from epoch to epoch.
  moveSpan(way, isLonger) {
    const { moments } = this, { span } = this.view.app.state, last = moments.length - 1, clamp = (k) => Math.max(0, Math.min(last, k));
    const [from, to] = span ? [lastAt(moments, span[0]), lastAt(moments, span[1] + 1)] : [0, last];
    const high = clamp(to + way), low = isLonger ? from : clamp(from + way);
    return [moments[Math.min(low, Math.max(0, high - 1))], moments[Math.max(high, 1)] ?? this.until];
  }

  // By stack: [{ node, sum, up }], `up` is what had been born by each of the moments and lives.
  update() {
    const { view, type } = this, { app } = view, { labels, asks } = app.state, key = JSON.stringify([labels, asks]);
    if (this.key !== key) {
      this.key = key;
      this.series = this.made(app, type);
      this.born = this.series.reduce((sum, one) => sum + one.sum, 0);
      this.tops = null;
    }
    this.showList();
  }

  made(app, type) {
    const rows = app.page.rows[0], values = rows.column(type), keep = app.model.rows(JSON.stringify({ labels: app.state.labels })), map = app.model.nodeMap(app.question);
    const byNode = new Map();
    for (let row = 0; row < rows.n; row++) {
      const node = map ? map[rows.node[row]] : rows.node[row];
      if (!(values[row] > 0) || rows.time[row] < 0 || node < 0 || (keep && !keep[row])) continue;
      if (!byNode.has(node)) byNode.set(node, { node, sum: 0, rows: [] });
      const one = byNode.get(node);
      one.sum += values[row];
      one.rows.push(row);
    }
    const sorted = [...byNode.values()].sort((a, b) => b.sum - a.sum || a.node - b.node), rest = sorted.slice(SHOWN);
    const series = sorted.slice(0, SHOWN);
    if (rest.length) series.push({ node: -1, many: rest.length, sum: rest.reduce((sum, one) => sum + one.sum, 0), rows: rest.flatMap((one) => one.rows) });
    for (const one of series) {
      one.up = new Float64Array(this.moments.length);
      for (const row of one.rows) one.up[this.bornBy(row)] += values[row];
      for (let k = 1; k < one.up.length; k++) one.up[k] += one.up[k - 1];
    }
    return series;
  }

  // By which moment a block had been born: the next one of its own process, if that is in the file.
  bornBy(row) {
    const { time, set } = this.view.app.page.rows[0], last = this.moments.length - 1;
    this.ofProcess ??= this.live ? null : this.momentsByProcess();
    const own = this.ofProcess ? this.ofProcess[set[row]] : this.moments, next = lastAt(own, time[row]) + 1;
    return next < own.length ? lastAt(this.moments, own[next]) : last;
  }

  // By set of labels, what is known of when epochs of its process began.
  momentsByProcess() {
    const { rows: [{ n, time, set }], sets } = this.view.app.page, pids = [], times = new Map(), bySet = [];
    for (let k = 0; k < sets.n; k++) pids.push(String(labelOf(sets.labels(k), "pid")));
    for (const pid of pids) times.set(pid, new Set());
    for (let row = 0; row < n; row++) if (time[row] >= 0) times.get(pids[set[row]]).add(time[row]);
    const sorted = new Map([...times].map(([pid, own]) => [pid, [...own].sort((a, b) => a - b)]));
    for (const pid of pids) bySet.push(sorted.get(pid));
    return bySet;
  }

  nameOf({ node, many }) {
    const { app, tree } = this.view;
    return node < 0 ? `${many} other stacks` : app.looks.short(tree.look[node]);
  }

  framesOf(node) { return framesOf(this.view.app.looks, this.view.tree, node); }

  choose({ node }) { if (node >= 0) this.view.app.select(this.view.tree.look[node], node); }

  showList() {
    const { view, series } = this, { app } = view, { fn } = app.state, { same } = app.looks;
    view.list.classList.add("births");
    view.list.replaceChildren(...series.map((one, rank) => {
      const frames = one.node < 0 ? [] : this.framesOf(one.node), swatch = make("i");
      swatch.style.background = colourOf(rank === SHOWN || one.node < 0 ? SHOWN : rank, app.colours.dark);
      const isSelected = one.node >= 0 && fn >= 0 && same[view.tree.look[one.node]] === same[fn];
      return make("li", "", make("div", "", swatch, make("button", this.nameOf(one), { type: "button", disabled: one.node < 0, "aria-pressed": String(isSelected), title: frames.join("\n"), onclick: () => this.choose(one) }),
        make("small", inUnit(one.sum, "bytes") + (frames[1] ? ` · from ${frames[1]}` : ""))));
    }));
    view.canvas.setAttribute("aria-label", `Live bytes over ${timeText(view.until)}: ${inUnit(this.born, "bytes")} live at the end, of ${series.length} stacks. Arrow keys move the span, with Shift they select; plus and minus stretch.`);
    view.note.textContent = this.noteText();
  }

  noteText() {
    const parts = [`In colour: what lives at the end (${inUnit(this.born, "bytes")}), by stack, from its birth on.`];
    if (this.live) parts.push("Grey: what was freed before; its stacks are not known over time.");
    else parts.push("What was freed before is not in this picture.");
    if (this.peak) parts.push(`Peak: ${inUnit(this.peak.value[0], "bytes")} after ${timeText(this.peak.time[0])}, by stack as the value peak_space.`);
    parts.push("Between two readings lines are straight. A span keeps what was born in it and lives at the end.");
    return parts.join(" ");
  }

  // Straight between two moments.
  valueAt(times, values, at) {
    const k = lastAt(times, at);
    if (k < 0) return 0;
    return k + 1 < times.length ? values[k] + ((values[k + 1] - values[k]) * (at - times[k])) / (times[k + 1] - times[k]) : values[k];
  }

  // What of each series had been born by each pixel's time, one on the other.
  stack(width) {
    const { view, series } = this;
    let below = new Float64Array(width);
    return series.map(({ up }) => {
      const top = below.map((under, x) => under + this.valueAt(this.moments, up, view.timeAt(x + 0.5)));
      below = top;
      return top;
    });
  }

  draw(paint, colour) {
    const { view } = this, { g } = paint, width = Math.ceil(view.width), height = view.height;
    const most = Math.max(1, this.born, this.peak?.value[0] ?? 0, this.live ? this.live.value.reduce((m, v) => Math.max(m, v), 0) : 0);
    this.y = (value) => height - PAD - (value / most) * (height - AXIS - 2 * PAD - 2 * TEXT);
    this.tops = this.stack(width);
    if (this.live) this.drawLive(g, width, colour);
    for (let rank = this.tops.length - 1; rank >= 0; rank--) this.drawBand(g, rank, width);
    this.drawScale(g, most, width, colour);
    if (this.peak) this.drawMark(g, this.peak.time[0], `peak ${inUnit(this.peak.value[0], "bytes")}`, colour("--accent"), height, 0);
    this.marks?.time.reduce((end, at, i) => this.drawMark(g, at, `mark ${this.marks.value[i]}`, colour("--focus"), height, 1, end), 0);
  }

  drawBand(g, rank, width) {
    const { y, tops, series, view } = this, top = tops[rank], below = tops[rank - 1];
    const { app } = view, { fn } = app.state, { same } = app.looks, { node } = series[rank];
    g.fillStyle = colourOf(node < 0 ? SHOWN : rank, app.colours.dark);
    g.globalAlpha = app.hits && !(node >= 0 && view.tree.pathTo(node).some((at) => at > 0 && app.hits[view.tree.look[at]])) ? 0.3 : 1;
    g.beginPath();
    g.moveTo(0, y(below ? below[0] : 0));
    for (let x = 0; x < width; x++) g.lineTo(x + 0.5, y(top[x]));
    g.lineTo(width, y(top[width - 1]));
    for (let x = width - 1; x >= 0; x--) g.lineTo(x + 0.5, y(below ? below[x] : 0));
    g.lineTo(0, y(below ? below[0] : 0));
    g.fill();
    if (node >= 0 && fn >= 0 && same[view.tree.look[node]] === same[fn]) {
      g.strokeStyle = app.colours.palette.text;
      g.lineWidth = 1.5;
      g.stroke();
    }
    g.globalAlpha = 1;
  }

  // All that lived.
  drawLive(g, width, colour) {
    const { view, live, y } = this;
    g.fillStyle = colour("--line");
    g.strokeStyle = colour("--faint");
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(0, y(0));
    for (let x = 0; x < width; x++) g.lineTo(x + 0.5, y(this.valueAt(live.time, live.value, view.timeAt(x + 0.5))));
    g.lineTo(width, y(this.valueAt(live.time, live.value, view.timeAt(width))));
    g.lineTo(width, y(0));
    g.fill();
    g.stroke();
  }

  drawScale(g, most, width, colour) {
    const step = roundStep(most / 4);
    g.font = SMALL_FONT;
    g.textBaseline = "middle";
    for (let value = step; value <= most; value += step) {
      g.fillStyle = colour("--line");
      g.fillRect(0, this.y(value), width, 1);
      g.fillStyle = colour("--faint");
      g.fillText(inUnit(value, "bytes"), 6, this.y(value) - 7);
    }
  }

  // In row 0 or 1 of texts, if it begins behind `from`; where the text ends.
  drawMark(g, at, text, ink, height, row, from = 0) {
    const { view } = this, x = view.place(at), wide = g.measureText(text).width, left = x + wide + 8 > view.width ? x - wide - 5 : x + 4;
    if (x < 0 || x > view.width) return from;
    g.fillStyle = ink;
    g.fillRect(x, AXIS, 1, height);
    if (left < from) return from;
    g.fillText(text, left, AXIS + 8 + row * TEXT);
    return left + wide + 4;
  }

  // The series at a point of the canvas: its number, -1: what was freed later, or null.
  rankAt(x, y) {
    const { tops } = this, at = Math.floor(x);
    if (!tops || at < 0 || at >= (tops[0]?.length ?? 0) || y < AXIS) return null;
    const rank = tops.findIndex((top) => y >= this.y(top[at]));
    if (rank >= 0) return y <= this.y(0) ? rank : null;
    return this.live && y >= this.y(this.valueAt(this.live.time, this.live.value, this.view.timeAt(x))) ? -1 : null;
  }

  point(event, x, y) {
    const rank = this.rankAt(x, y), { view, series } = this, at = view.timeAt(x);
    if (rank === null) return this.leave();
    this.shown = true;
    if (rank < 0) {
      const lived = this.valueAt(this.live.time, this.live.value, at), born = this.tops.length ? this.tops[this.tops.length - 1][Math.floor(x)] : 0;
      return showRows("Freed later", [["at", momentText(at)], ["bytes", inUnit(Math.max(0, lived - born), "bytes")], ["stacks", "not kept: the tracker writes a state, no trace"]], event.clientX, event.clientY);
    }
    const one = series[rank], stack = one.node < 0 ? [] : this.framesOf(one.node);
    showRows(this.nameOf(one), [["at", momentText(at)], ["born by then", inUnit(this.valueAt(this.moments, one.up, at), "bytes")], ["live at the end", inUnit(one.sum, "bytes")],
      ...(stack.length ? [["stack", stack.join("\n")]] : [])], event.clientX, event.clientY);
  }

  leave() {
    if (this.shown) hideTip();
    this.shown = false;
  }

  click(x, y) {
    const rank = this.rankAt(x, y);
    if (rank === null || rank < 0) return false;
    this.choose(this.series[rank]);
    return true;
  }
}

// The lines above the picture say the same with less.
export const hideLines = (app) => {
  byId("lines").hidden = app.state.view === "timeline" && isHeapOverTime(app.page) && app.page.lines.some(({ name }) => name === "live");
};
