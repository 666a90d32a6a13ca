// SPDX-License-Identifier: MIT
// Threads as rows, time along x: in each row how much was seen when, with the events of the thread above
// it, and below it, where the row is open, its stacks. A span that is selected here is the only time that
// every view shows; what part of the time this view itself shows, by Ctrl and the wheel or + and -,
// changes nothing elsewhere.
import { byId, make, speak } from "./dom.js";
import { counted } from "./format.js";
import { Events } from "./events.js";
import { CanvasPaint, ROW } from "./paint.js";
import { Runs, endOf, lengthsOf, samplesOf, samplesOfEvents } from "./runs.js";
import { StackChart } from "./stack_chart.js";
import { StackWalk } from "./stack_walk.js";
import { AXIS, SMALL_FONT, drawAxis, drawSpan, timeText } from "./time_axis.js";
import { hasTimes, threadsOf } from "./threads.js";
import { HeapChart, isHeapOverTime } from "./heap_chart.js";
import { listenToTime } from "./time_gestures.js";

const TRACK = ROW > 20 ? 54 : 46, TRACK_MOST = 110, ROWS = 400; // where fingers point, there is room for them
const PAPER = 700, PAPER_HIGH = 2400; // pixels that fit on any

export class TimelineView {
  constructor(app) {
    Object.assign(this, { app, threads: null, lanes: [], type: -1, known: new Map(), charts: new Map() });
    this.events = new Events(app);
    this.walk = new StackWalk(this);
    this.heap = isHeapOverTime(app.page) ? new HeapChart(this) : null;
  }

  get panes() { return []; }
  get box() { return byId("timeline"); }
  get spans() { return (this.lengths ??= lengthsOf(this.app.page, this.app.meta.sides[0])); }
  isStill() { return !this.pending; }

  begin() {
    const { app, box } = this;
    this.canvas = make("canvas", "", { tabIndex: 0, role: "img" });
    this.list = make("ul", "", { className: "threads" });
    this.note = make("p", "", { className: "note-over-time" });
    box.replaceChildren(make("div", "", { className: "time" }, this.list, this.canvas), this.note);
    this.paint = new CanvasPaint(this.canvas, app.looks.n);
    listenToTime(this);
    box.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(box);
  }

  measure() {
    const { heap, threads, app: { page: { rows: [rows] } } } = this;
    this.until = heap ? heap.until : threads.reduce((most, thread) => Math.max(most, endOf(rows, this.spans, thread.rows)), this.events.until(1));
    this.low = 0;
    this.high = this.until;
    const { time } = rows, untimed = heap || !time ? 0 : time.reduce((n, at) => n + (at < 0), 0);
    if (untimed) this.note.textContent = `${counted(untimed)} of ${counted(rows.n)} samples do not say when they were taken, and are not in this view.`;
  }

  timeAt(x) { return this.low + (x / this.width) * (this.high - this.low); }
  place(time) { return ((time - this.low) / (this.high - this.low)) * this.width; }

  // A microsecond is the finest that times of samples tell.
  show(low, high) {
    const span = Math.min(this.until, Math.max(1, high - low));
    this.low = Math.min(Math.max(0, low), this.until - span);
    this.high = this.low + span;
    this.redraw();
  }
  stretch(factor, x) {
    const at = this.timeAt(x);
    this.show(at - (at - this.low) * factor, at + (this.high - at) * factor);
  }
  slide(share) {
    const by = share * (this.high - this.low);
    this.show(Math.max(0, this.low + by), Math.max(0, this.low + by) + this.high - this.low);
  }
  home() { if (this.canvas) this.show(0, this.until); }

  select(wanted) {
    let span = wanted;
    this.app.state.set({ span, frame: "", ...(span && this.heap?.spanOf(span)) });
    ({ span } = this.app.state);
    speak(span ? `From ${timeText(span[0])} to ${timeText(span[1])}` : "All of the time");
  }

  update() {
    const { app } = this, { page, state } = app;
    if (!hasTimes(page)) return this.box.replaceChildren(make("p", "No sample says when it was taken.", { className: "none" }));
    const isNew = !this.canvas;
    if (isNew) this.begin();
    this.values = page.rows[0].values(state.type);
    if (this.type !== state.type) {
      this.type = state.type;
      this.threads = threadsOf(page, this.values);
      this.sums = new Map();
      if (isNew) this.measure();
      this.canvas.setAttribute("aria-label", `Timeline of ${counted(this.threads.length)} threads over ${timeText(this.until)}. Arrow keys move, with Shift they select; plus and minus stretch; down and up walk through the stacks, comma and full stop to the next ones.`);
    }
    this.tree = app.model.plain(app.question);
    if (this.heap) this.heap.update();
    else this.showList();
    this.redraw();
  }

  // Which threads show their stacks: those that were chosen, else the busiest, as many as fit.
  openThreads() {
    const { stacks } = this.app.state, threads = this.threads.slice(0, ROWS);
    if (stacks) return new Set(stacks);
    const open = new Set();
    let room = this.box.clientHeight - AXIS - threads.length * TRACK;
    for (const thread of threads) {
      const high = this.highOf(thread);
      if (!high) continue;
      room -= high;
      if (open.size && room < 0) break;
      open.add(thread.id);
    }
    return open;
  }

  toggle(id) {
    const open = this.openThreads();
    if (!open.delete(id)) open.add(id);
    this.app.state.set({ stacks: [...open] }, true);
  }

  // 0: it has no stacks. Of a thread without samples they are those of its events.
  highOf(thread) {
    if (thread.deepest === undefined) {
      const { depth, markers, rows: [{ node }] } = this.app.page;
      thread.deepest = 0;
      for (const row of thread.rows) if (depth[node[row]] > thread.deepest) thread.deepest = depth[node[row]];
      if (!thread.rows.length) for (const i of thread.events) if (depth[markers.node[i]] > thread.deepest) thread.deepest = depth[markers.node[i]];
    }
    return thread.deepest && (thread.deepest + 1) * ROW; // as StackChart has it
  }

  // Kept while the samples and the shape of the tree are the same.
  runsOf(thread) {
    const { app, known } = this, { labels, asks } = app.state, key = JSON.stringify([labels, asks]);
    if (this.key !== key) { known.clear(); this.key = key; }
    if (!known.has(thread.id)) {
      const keep = app.model.rows(JSON.stringify({ labels })), rows = keep ? thread.rows.filter((row) => keep[row]) : thread.rows, map = app.model.nodeMap(app.question);
      known.set(thread.id, new Runs(this.tree, thread.rows.length ? samplesOf(app.page.rows[0], this.spans, rows, map)
        : samplesOfEvents(app.page.markers, this.events.keptOf(thread.events), map)));
    }
    const runs = known.get(thread.id);
    runs.tree = this.tree;
    return runs;
  }

  chartOf({ id }) {
    if (!this.charts.has(id)) this.charts.set(id, new StackChart(this.app));
    return this.charts.get(id);
  }

  showList() {
    const { app, threads } = this, { state } = app;
    this.list.replaceChildren(...threads.slice(0, ROWS).map((thread) => {
      const { id, name, key, value } = thread, saying = this.saying(thread), only = key && state.labels[key]?.length === 1 && state.labels[key][0] === value;
      return make("li", "", make("div", "",
        make("button", "", { type: "button", className: "twisty", disabled: !this.highOf(thread), "aria-label": `Stacks of ${name}`, onclick: () => this.toggle(id) }),
        make("button", name, { type: "button", title: `${name}: ${saying}. Only this one, or all again.`, disabled: !key, "aria-pressed": String(Boolean(only)),
          onclick: () => { const { [key]: _, ...rest } = state.labels; state.set({ labels: only ? rest : { ...rest, [key]: [value] }, frame: "" }); } }), make("small", saying)));
    }));
  }

  saying({ sum, events }) {
    const many = this.events.many(events);
    return sum && many ? `${this.app.valueText(sum)}, ${many}` : many || this.app.valueText(sum);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  // [{ thread, top, track, chart, runs, high }]: `top` counts from the first row's.
  layOut(clientHeight) {
    const threads = this.threads.slice(0, ROWS), open = this.openThreads();
    const lanes = threads.map((thread) => {
      const runs = open.has(thread.id) && this.highOf(thread) ? this.runsOf(thread) : null, chart = runs && this.chartOf(thread);
      return { thread, runs, chart, high: chart ? chart.heightOf(runs) : 0 };
    });
    const room = clientHeight - AXIS - lanes.reduce((sum, { high }) => sum + high, 0);
    const track = Math.max(TRACK, Math.min(TRACK_MOST, Math.floor(room / lanes.length)));
    lanes.reduce((top, lane) => {
      Object.assign(lane, { top, track });
      return top + track + lane.high;
    }, 0);
    lanes.forEach(({ high, chart }, i) => {
      const row = this.list.children[i];
      row.style.height = `${track + high}px`;
      row.style.setProperty("--track", `${track}px`);
      row.querySelector(".twisty").setAttribute("aria-expanded", String(Boolean(chart)));
    });
    return lanes;
  }

  // For the paper, before the browser lays it out, and as it was again.
  print(on) {
    if (on && this.canvas) this.draw(PAPER, true);
    else this.redraw();
  }

  draw(room = this.box.clientWidth, isPaper = false) {
    if (!this.threads || !room) return;
    const { app, canvas, box, paint } = this, ratio = devicePixelRatio || 1;
    if (!this.heap) this.lanes = this.layOut(box.clientHeight);
    const last = this.lanes[this.lanes.length - 1], width = Math.max(120, room - this.list.offsetWidth);
    const height = isPaper ? Math.min(PAPER_HIGH, this.heap ? 400 : last ? AXIS + last.top + last.track + last.high : AXIS) : Math.max(60, box.clientHeight - this.note.offsetHeight);
    Object.assign(this, { width, height, scroll: isPaper ? 0 : box.scrollTop });
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    paint.begin(width, height, ratio);
    const g = paint.g, style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    g.font = SMALL_FONT;
    if (this.heap) this.heap.draw(paint, colour);
    else this.drawLanes(colour);
    g.globalAlpha = 1;
    g.fillStyle = colour("--page");
    g.fillRect(0, 0, width, AXIS - 4);
    g.font = SMALL_FONT;
    drawAxis(g, this, width, this.heap ? height : AXIS, colour);
    const span = this.dragged ?? app.state.span;
    if (span) drawSpan(g, this, span, width, height, colour);
  }

  yOf(lane) { return AXIS + lane.top - this.scroll; }

  drawLanes(colour) {
    const { paint, width, height, app, tree } = this, { g } = paint, seen = this.lanes.filter((lane) => this.yOf(lane) < height && this.yOf(lane) + lane.track + lane.high > AXIS);
    for (const lane of seen.filter(({ chart }) => chart))
      lane.chart.draw(lane.runs, { paint, place: (at) => this.place(at), low: this.low, high: this.high, width, top: this.yOf(lane) + lane.track,
        from: AXIS, until: height, tree, whole: app.whole, faint: colour("--faint") });
    paint.flush();
    g.font = getComputedStyle(this.canvas).font;
    for (const { chart } of seen) chart?.finish();
    this.walk.draw(paint);
    g.fillStyle = colour("--line");
    for (const lane of seen) g.fillRect(0, this.yOf(lane) + lane.track + lane.high - 1, width, 1);
    this.drawBins(g, seen);
    this.events.draw(g, seen, this);
  }

  // What ended in two pixels' time, by thread, as bars of one height for all.
  drawBins(g, lanes) {
    const n = Math.ceil(this.width / 2), all = lanes.map(({ thread }) => this.bins(thread, n));
    const most = all.reduce((max, bins) => bins.reduce((m, v) => Math.max(m, v), max), 0) || 1;
    g.fillStyle = this.app.colours.palette.kinds[0][4];
    all.forEach((bins, i) => {
      const { track } = lanes[i], base = this.yOf(lanes[i]) + track - 4;
      for (let x = 0; x < n; x++) {
        if (!bins[x]) continue;
        const h = Math.max(2, (bins[x] / most) * (track - 19));
        g.fillRect(x * 2, base - h, 1.6, h);
      }
    });
  }

  // The values of a thread up to each of its samples, by which a bar costs no more than to look up its ends.
  sumsOf({ id, rows }) {
    const { app, sums } = this, key = JSON.stringify(app.state.labels);
    if (this.sumsKey !== key) { sums.clear(); this.sumsKey = key; }
    if (!sums.has(id)) {
      const keep = app.model.rows(JSON.stringify({ labels: app.state.labels })), up = new Float64Array(rows.length + 1);
      for (let k = 0; k < rows.length; k++) up[k + 1] = up[k] + (keep && !keep[rows[k]] ? 0 : Math.max(0, this.values[rows[k]]));
      sums.set(id, up);
    }
    return sums.get(id);
  }

  // What was seen until a time; a wait counts for all of its length.
  seenUntil(rows, up, at) {
    const { time } = this.app.page.rows[0];
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[rows[middle]] < at) low = middle + 1; else high = middle;
    }
    const last = rows[low - 1], waited = low ? this.spans.waited?.[last] / 1e3 : 0;
    return waited > 0 ? up[low - 1] + (up[low] - up[low - 1]) * Math.min(1, (at - time[last]) / waited) : up[low];
  }

  bins({ rows, ...thread }, n) {
    const bins = new Float64Array(n), up = this.sumsOf({ rows, ...thread }), wide = (2 * (this.high - this.low)) / this.width;
    for (let x = 0, before = this.seenUntil(rows, up, this.low); x < n; x++) {
      const next = this.seenUntil(rows, up, x === n - 1 ? this.high + 0.5 : this.low + (x + 1) * wide);
      bins[x] = next - before;
      before = next;
    }
    return bins;
  }

  // The row of a point of the canvas.
  laneAt(y) {
    return this.lanes.find((lane) => y >= this.yOf(lane) && y < this.yOf(lane) + lane.track + lane.high) ?? null;
  }

  hits() { return []; }
  mark() {
    this.heap?.showList();
    this.redraw();
  }

  press(key, event) {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[key];
    if (!this.canvas) return false;
    if (key === "+" || key === "-") {
      this.stretch(key === "+" ? 0.5 : 2, this.width / 2);
      return true;
    }
    if (key === "PageUp" || key === "PageDown") {
      this.slide(key === "PageUp" ? -0.8 : 0.8);
      return true;
    }
    if (!step) return !this.heap && this.walk.press(key);
    if (this.heap) {
      this.select(this.heap.moveSpan(Math.sign(step), event.shiftKey));
      return true;
    }
    const span = this.app.state.span ?? [0, this.until], by = step * this.until;
    const moved = event.shiftKey ? [span[0], span[1] + by] : [span[0] + by, span[1] + by];
    const to = Math.min(this.until, Math.max(moved[1], 0)), from = Math.max(0, Math.min(moved[0], to));
    this.select([Math.round(from), Math.round(to)]);
    return true;
  }
}
