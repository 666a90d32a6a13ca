// SPDX-License-Identifier: MIT
// Threads as rows, time along x, and in each row how much was seen when, with the events of the thread
// above it. A span that is selected here is the only time that every view shows; what part of the time this
// view itself shows, by Ctrl and the wheel or + and -, changes nothing elsewhere.
import { byId, make, speak } from "./dom.js";
import { counted } from "./format.js";
import { Events } from "./events.js";

const ROW_LEAST = 46, ROW_MOST = 110, AXIS = 24, ROWS = 400;
const PAPER = 700; // pixels that fit on any

export const timeText = (us) => (us === 0 ? "0" : us >= 60e6 ? `${Math.floor(us / 60e6)}:${(us / 1e6 % 60).toFixed(1).padStart(4, "0")} min` : us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(1)} ms` : `${us.toFixed(0)} µs`);

// Rows of threads: [{ name, key, value, rows of samples }], the busiest first.
export const threadsOf = (page, values) => {
  const { markers } = page, rows = page.rows[0], ofSet = new Map(), threads = new Map();
  const threadOf = (set) => {
    if (ofSet.has(set)) return ofSet.get(set);
    const labels = page.sets.labels(set), get = (key) => labels.find((label) => label.key === key)?.value;
    const tid = get("tid"), key = tid !== undefined ? "tid" : get("thread") !== undefined ? "thread" : get("pid") !== undefined ? "pid" : "";
    const value = key ? String(get(key)) : "", name = [get("thread") ?? get("process"), tid ?? get("pid")].filter((part) => part !== undefined).join(" · ");
    const id = `${key}=${value}`;
    if (!threads.has(id)) threads.set(id, { name: name || "all samples", key, value, rows: [], events: [], sum: 0 });
    ofSet.set(set, threads.get(id));
    return threads.get(id);
  };
  for (let i = 0; markers && i < markers.n; i++) threadOf(markers.set[i]).events.push(i);
  for (let row = 0; rows.time && row < rows.n; row++) {
    if (rows.time[row] < 0) continue;
    const thread = threadOf(rows.set[row]);
    thread.rows.push(row);
    thread.sum += values[row];
  }
  return [...threads.values()].sort((a, b) => b.sum - a.sum || b.events.length - a.events.length || (a.name < b.name ? -1 : 1));
};

// Of the marks of an axis, apart by `step`: as many digits as tell them apart.
const markText = (us, step) => {
  if (us === 0 || us >= 60e6) return timeText(us);
  const [size, unit] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${(us / size).toFixed(Math.max(0, Math.min(6, Math.ceil(Math.log10(size / step)))))} ${unit}`;
};

export const hasTimes = (page) => Boolean(page.rows?.[0]?.time || page.markers);

export class TimelineView {
  constructor(app) {
    this.app = app;
    this.threads = null;
    this.type = -1;
    this.dragFrom = -1;
    this.cursor = 0; // for keys: a share of the whole time
    this.events = new Events(app);
  }

  get panes() { return []; }
  isStill() { return !this.pending; }

  begin() {
    const { app } = this, box = byId("timeline");
    this.until = this.events.until(1);
    for (const at of app.page.rows[0].time ?? []) if (at > this.until) this.until = at;
    this.low = 0;
    this.high = this.until;
    this.canvas = make("canvas", "", { tabIndex: 0, role: "img" });
    this.list = make("ul", "", { className: "threads" });
    box.replaceChildren(this.list, this.canvas);
    const at = (event) => {
      const x = event.clientX - this.canvas.getBoundingClientRect().left;
      return this.timeAt(Math.min(this.width, Math.max(0, x)));
    };
    this.canvas.addEventListener("wheel", (event) => {
      const x = event.clientX - this.canvas.getBoundingClientRect().left, side = event.deltaX || (event.shiftKey ? event.deltaY : 0);
      if (event.ctrlKey || event.metaKey) this.stretch(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), x);
      else if (Math.abs(side) >= Math.abs(event.deltaY) && side) this.slide(side / this.width);
      else return;
      event.preventDefault();
    }, { passive: false });
    this.canvas.addEventListener("dblclick", () => this.show(0, this.until));
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.dragFrom = at(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.dragFrom < 0) return this.events.point(event, this);
      this.dragged = [Math.min(this.dragFrom, at(event)), Math.max(this.dragFrom, at(event))].map(Math.round);
      this.redraw();
    });
    this.canvas.addEventListener("pointerup", () => {
      const wide = this.dragged && this.dragged[1] - this.dragged[0] > (3 / this.width) * (this.high - this.low);
      this.dragFrom = -1;
      if (this.dragged) this.select(wide ? this.dragged : null);
      this.dragged = null;
    });
    this.canvas.addEventListener("pointerleave", () => this.events.leave());
    new ResizeObserver(() => this.redraw()).observe(box);
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

  select(span) {
    this.app.state.set({ span, frame: "" });
    speak(span ? `From ${timeText(span[0])} to ${timeText(span[1])}` : "All of the time");
  }

  update() {
    const { app } = this, { page, state } = app;
    if (!hasTimes(page)) return byId("timeline").replaceChildren(make("p", "No sample says when it was taken.", { className: "none" }));
    if (!this.canvas) this.begin();
    this.values = page.rows[0].values(state.type);
    if (this.type !== state.type) {
      this.type = state.type;
      this.threads = threadsOf(page, this.values);
      this.canvas.setAttribute("aria-label", `Timeline of ${counted(this.threads.length)} threads over ${timeText(this.until)}. Arrow keys move, with Shift they select; plus and minus stretch.`);
    }
    this.list.replaceChildren(...this.threads.slice(0, ROWS).map(({ name, key, value, sum, events }) => {
      const only = key && state.labels[key]?.length === 1 && state.labels[key][0] === value;
      return make("li", "", make("button", name, { type: "button", title: `${name}: ${this.saying(sum, events)}. Only this one, or all again.`, disabled: !key, "aria-pressed": String(Boolean(only)),
        onclick: () => { const { [key]: _, ...rest } = state.labels; state.set({ labels: only ? rest : { ...rest, [key]: [value] }, frame: "" }); } }), make("small", this.saying(sum, events)));
    }));
    this.redraw();
  }

  saying(sum, events) {
    const many = this.events.many(events);
    return sum && many ? `${this.app.valueText(sum)}, ${many}` : many || this.app.valueText(sum);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  // What ended in each pixel's time, by thread.
  bins(thread, width) {
    const { time } = this.app.page.rows[0], bins = new Float64Array(width);
    if (!time) return bins;
    const scale = (width - 1) / (this.high - this.low), keep = this.app.model.rows(JSON.stringify({ labels: this.app.state.labels }));
    for (const row of thread.rows) {
      const at = Math.floor((time[row] - this.low) * scale);
      if (at >= 0 && at < width && (!keep || keep[row])) bins[at] += Math.max(0, this.values[row]);
    }
    return bins;
  }

  // For the paper, before the browser lays it out, and as it was again.
  print(on) {
    if (on && this.canvas) this.draw(PAPER);
    else this.redraw();
  }

  draw(room = byId("timeline").clientWidth) {
    if (!this.threads || !room) return;
    const { canvas, app } = this, threads = this.threads.slice(0, ROWS), ratio = devicePixelRatio || 1;
    const row = Math.max(ROW_LEAST, Math.min(ROW_MOST, Math.floor((byId("timeline").clientHeight - AXIS) / threads.length)));
    const width = Math.max(120, room - this.list.offsetWidth), height = threads.length * row + AXIS;
    Object.assign(this, { width, row, axis: AXIS });
    this.list.style.setProperty("--row", `${row}px`);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = "11px system-ui, DejaVu Sans, sans-serif";
    this.drawAxis(g, width, height, colour);
    const n = Math.ceil(width / 2), bins = threads.map((thread) => this.bins(thread, n));
    const most = bins.reduce((max, row) => row.reduce((m, v) => Math.max(m, v), max), 0) || 1;
    g.fillStyle = app.colours.palette.kinds[0][4];
    bins.forEach((row, i) => {
      for (let x = 0; x < n; x++) {
        if (!row[x]) continue;
        const h = Math.max(2, (row[x] / most) * (this.row - 12));
        g.fillRect(x * 2, AXIS + (i + 1) * this.row - 5 - h, 1.6, h);
      }
    });
    this.events.draw(g, threads, this, AXIS);
    this.drawSpan(g, width, height, colour);
  }

  drawAxis(g, width, height, colour) {
    const rough = (this.high - this.low) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
    g.textBaseline = "middle";
    for (let k = Math.ceil(this.low / step); k * step <= this.high; k++) {
      const at = k * step, x = this.place(at);
      g.fillStyle = colour("--line");
      g.fillRect(x, AXIS - 4, 1, height);
      g.fillStyle = colour("--faint");
      if (x < width - 60) g.fillText(markText(at, step), x + 5, AXIS / 2);
    }
    g.fillStyle = colour("--line");
    for (let y = AXIS; y <= height; y += this.row) g.fillRect(0, y - 0.5, width, 1);
  }

  drawSpan(g, width, height, colour) {
    const span = this.dragged ?? this.app.state.span;
    if (!span) return;
    const [x0, x1] = span.map((at) => Math.max(-9, Math.min(width + 9, this.place(at))));
    g.globalAlpha = 0.6;
    g.fillStyle = colour("--page");
    g.fillRect(0, AXIS, x0, height);
    g.fillRect(x1, AXIS, width, height);
    g.globalAlpha = 1;
    g.fillStyle = colour("--focus");
    for (const x of [x0, x1]) g.fillRect(x - 1, AXIS - 4, 2, height);
    g.fillText(`${timeText(span[0])} to ${timeText(span[1])}`, Math.min(x0 + 5, width - 130), AXIS + 9);
  }

  hits() { return []; }

  press(key, event) {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[key];
    if (this.canvas && (key === "+" || key === "-")) {
      this.stretch(key === "+" ? 0.5 : 2, this.width / 2);
      return true;
    }
    if (!step || !this.canvas) return false;
    const span = this.app.state.span ?? [0, this.until], by = step * this.until;
    const moved = event.shiftKey ? [span[0], span[1] + by] : [span[0] + by, span[1] + by];
    const to = Math.min(this.until, Math.max(moved[1], 0)), from = Math.max(0, Math.min(moved[0], to));
    this.select([Math.round(from), Math.round(to)]);
    return true;
  }
}
