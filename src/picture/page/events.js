// SPDX-License-Identifier: MIT
// Events of the timeline: a mark for each in the row of its thread, as wide as it took, and all that is
// known of the one under the pointer.
import { inUnit, many } from "./format.js";
import { setsKept } from "./filter.js";
import { framesOf, hideTip, showRows } from "./tip.js";
import { threadName } from "./threads.js";
import { AXIS, momentText } from "./time_axis.js";

const MARK = 9, TOP = 5, NEAR = 4; // pixels: height, distance from the row's top, reach of the pointer
const DETAIL = /^arg\./;
export const WHOSE = ["pid", "tid", "process", "thread", "cgroup"];

export class Events {
  constructor(app) {
    this.app = app;
    this.markers = app.page.markers;
    this.colourOf = new Map(); // by name, in the order they come
  }

  until(least) {
    const { markers } = this;
    let last = least;
    for (let i = 0; markers && i < markers.n; i++) last = Math.max(last, markers.time[i] + markers.took[i] / 1e3);
    return last;
  }

  many(events) { return events.length ? many(events.length, "event") : ""; }

  // Neighbours on the wheel of colours come far from each other.
  colour(name) {
    if (!this.colourOf.has(name)) this.colourOf.set(name, `hsl(${(200 + this.colourOf.size * 137.5) % 360} 52% 54%)`);
    return this.colourOf.get(name);
  }

  // Where it begins and ends, in pixels.
  ends(i, view) {
    const { time, took } = this.markers;
    return [view.place(time[i]), view.place(time[i] + took[i] / 1e3)];
  }

  // Sets of labels may be as many as the events: they are asked again only where other labels are.
  keptSets() {
    const { page, state: { labels } } = this.app;
    if (this.labels !== labels) Object.assign(this, { labels, kept: setsKept(page, labels) });
    return this.kept;
  }

  keptOf(events) {
    const kept = this.keptSets();
    return events.filter((i) => kept[this.markers.set[i]]);
  }

  // Marks that would lie on each other are drawn once: a row takes as long as it has pixels. Where a thread
  // has no samples, they have all of its row.
  draw(g, lanes, view) {
    const { markers } = this;
    if (!markers) return;
    for (const lane of lanes) {
      const { thread: { events, rows }, track } = lane, y = view.yOf(lane) + TOP, high = rows.length ? MARK : track - 2 * TOP;
      let end = -1, last = "";
      lane.events = this.keptOf(events);
      for (const i of lane.events) {
        const [x, to] = this.ends(i, view), w = Math.max(1.5, to - x), name = markers.name(i);
        if (x > view.width || x + w < 0 || (x + w < end + 0.5 && name === last)) continue;
        g.fillStyle = this.colour(name);
        g.fillRect(x, y, w, high);
        end = x + w;
        last = name;
      }
    }
  }

  // The event at a point of the canvas: the nearest one that is at most a few pixels away.
  at(x, y, view) {
    const lane = y > AXIS ? view.laneAt(y) : null, events = lane && y < view.yOf(lane) + lane.track ? lane.events ?? [] : [];
    let best = -1, distance = NEAR;
    for (const i of events) {
      const [from, to] = this.ends(i, view), off = x < from ? from - x : x > to ? x - to : 0;
      if (off < distance) { distance = off; best = i; }
    }
    return best;
  }

  // Whose it is, what it was given, and the innermost frames of its stack.
  rowsOf(i) {
    const { markers, app: { page, model, looks } } = this, labels = page.sets.labels(markers.set[i]), rows = [["at", momentText(markers.time[i])]];
    if (markers.took[i]) rows.push(["took", inUnit(markers.took[i], "nanoseconds")]);
    for (const { key, value } of labels) if (!WHOSE.includes(key)) rows.push([key.replace(DETAIL, ""), String(value).slice(0, 400)]);
    rows.push(["thread", threadName(labels)]);
    const frames = framesOf(looks, model.base, markers.node[i]);
    if (frames.length) rows.push(["stack", frames.join("\n")]);
    return rows;
  }

  point(event, view) {
    if (!this.markers) return;
    const box = view.canvas.getBoundingClientRect(), i = this.at(event.clientX - box.left, event.clientY - box.top, view);
    if (i < 0) return this.leave();
    showRows(this.markers.name(i).slice(0, 400), this.rowsOf(i), event.clientX, event.clientY);
    this.shown = true;
  }

  // `isOther`: something else is shown in the place of it.
  leave(isOther = false) {
    if (this.shown && !isOther) hideTip();
    this.shown = false;
  }
}
