// SPDX-License-Identifier: MIT
// The pointer and the keys in the stacks of the timeline: what is known of a box, and from box to box.
import { speak } from "./dom.js";
import { GAP, ROW } from "./paint.js";
import { inUnit } from "./format.js";
import { hideTip, nodeRows, showRows, sourceRows } from "./tip.js";
import { WHOSE } from "./events.js";
import { waitText } from "./stack_chart.js";
import { AXIS, momentText } from "./time_axis.js";

const AROUND = 0.08; // of the view, left and right of a box that fills it

export class StackWalk {
  constructor(view) {
    Object.assign(this, { view, lane: "", run: null, shown: false });
  }

  laneOf(id) { return this.view.lanes.find(({ thread, chart }) => chart && thread.id === id); }

  // The box, or the wait, at a point of the canvas, with its lane; null.
  at(x, y) {
    const lane = y > AXIS ? this.view.laneAt(y) : null, found = lane?.chart?.at(x, y);
    return found ? { lane, ...found } : null;
  }

  // What the sample itself says, but for whose it is.
  labelRows(lane, sample) {
    const { page } = this.view.app, labels = page.sets.labels(lane.runs.samples.set[sample]);
    return labels.filter(({ key }) => !WHOSE.includes(key)).slice(0, 12).map(({ key, value }) => [key, String(value).slice(0, 200)]);
  }

  when({ start, end }, isRough) {
    return [["from", momentText(start)], ["for", (isRough ? "about " : "") + inUnit((end - start) * 1e3, "nanoseconds")]];
  }

  showTip(found, x, y, time) {
    const { lane, box, wait } = found, { app, tree } = this.view, { samples } = lane.runs, { chart } = lane;
    this.shown = true;
    if (wait) {
      const set = wait.sample >= 0 ? samples.set[wait.sample] : -1;
      const inner = wait.sample >= 0 ? [["in", app.looks.name(tree.look[samples.node[wait.sample]])]] : [];
      return showRows(set >= 0 ? waitText(app.page.sets.labels(set)) : "off the CPU", [...this.when(wait, chart.isRough), ...inner, ["thread", lane.thread.name]], x, y);
    }
    const look = tree.look[box.node], sample = lane.runs.at(time);
    showRows(app.looks.name(look).slice(0, 2000), [...this.when(box, chart.isRough), ...nodeRows(app, tree, box.node, 0), ...sourceRows(app, look),
      ["thread", lane.thread.name], ...(sample >= 0 && !chart.isRough ? this.labelRows(lane, sample) : [])], x, y);
  }

  point(event, x, y) {
    const found = this.at(x, y);
    if (!found) { this.leave(); return false; }
    this.showTip(found, event.clientX, event.clientY, this.view.timeAt(x));
    return true;
  }

  leave() {
    if (this.shown) hideTip();
    this.shown = false;
  }

  click(x, y) {
    const found = this.at(x, y);
    if (!found?.box) return false;
    const { box, lane } = found;
    this.lane = lane.thread.id;
    this.run = lane.runs.run(Math.max(0, lane.runs.at(this.view.timeAt(x))), box.depth);
    this.view.app.select(this.view.tree.look[box.node], box.node);
    this.view.redraw();
    return true;
  }

  menu(x, y, event) {
    const found = this.at(x, y);
    if (found?.box) this.view.app.openMenu(this.view.tree, found.box.node, event.clientX, event.clientY);
  }

  // So that the box fills most of the view.
  zoomTo({ start, end }) {
    const by = (end - start) * AROUND;
    this.view.show(start - by, end + by);
  }

  choose(run) {
    const { view } = this, { app } = view, lane = this.laneOf(this.lane), look = view.tree.look[run.node];
    this.run = run;
    if (run.end <= view.low || run.start >= view.high) view.show((run.start + run.end - view.high + view.low) / 2, (run.start + run.end + view.high - view.low) / 2);
    const y = view.yOf(lane) + lane.track + (run.depth - 1) * ROW;
    if (y < AXIS) view.box.scrollTop += y - AXIS - ROW;
    else if (y + ROW > view.height) view.box.scrollTop += y + 2 * ROW - view.height;
    app.select(look, run.node);
    view.redraw();
    const [from, took] = this.when(run, false).map(([, text]) => text);
    speak(`${app.looks.name(look)}, from ${from}, for ${took}, ${lane.thread.name}`);
    const box = view.canvas.getBoundingClientRect(), x = Math.max(0, Math.min(view.width - 20, view.place(run.start)));
    this.showTip({ lane, box: run }, box.left + x + 20, box.top + Math.max(AXIS, y) + ROW, run.start);
  }

  // Where keys begin: the outermost frame in the middle of the first thread that is open.
  first() {
    const { view } = this, lane = this.laneOf(this.lane) ?? view.lanes.find(({ chart, runs }) => chart && runs.samples.n);
    if (!lane) return;
    this.lane = lane.thread.id;
    this.choose(lane.runs.run(Math.max(0, lane.runs.at((view.low + view.high) / 2)), 1));
  }

  press(key) {
    const lane = this.laneOf(this.lane), { run } = this, { view } = this;
    if (key === "ArrowDown" && !(lane && run)) { this.first(); return true; }
    if (!lane || !run || run.last >= lane.runs.samples.n) return false;
    if (key === "ArrowDown") this.choose(lane.runs.run(run.sample, run.depth + 1));
    else if (key === "ArrowUp") this.choose(lane.runs.run(run.sample, Math.max(1, run.depth - 1)));
    else if (key === "," || key === ".") { const next = lane.runs.beside(run, key === "," ? -1 : 1); if (next) this.choose(next); }
    else if (key === "Enter") this.zoomTo(run);
    else if (key === "m") { const box = view.canvas.getBoundingClientRect(); view.app.openMenu(view.tree, run.node, box.left + Math.max(0, view.place(run.start)), box.top + 60); }
    else return false;
    return true;
  }

  draw(paint) {
    const { view, run } = this, lane = this.laneOf(this.lane);
    if (!run || !lane || view.app.state.fn !== view.tree.look[run.node]) return;
    const x = Math.max(-2, view.place(run.start)), w = Math.min(view.width + 2, view.place(run.end)) - x;
    if (w > 0) paint.outline(x, view.yOf(lane) + lane.track + (run.depth - 1) * ROW, Math.max(w - GAP, 1), ROW - GAP, view.app.colours.palette.text, 2);
  }
}
