// SPDX-License-Identifier: MIT
// The threads of a page, each with its samples in the order of time and its events.

// Numbers of rows that have a time, the earliest first; those of one time stay in order. By digits of
// 16 bits: a comparison for each pair would take a second for a million.
export const rowsByTime = (time) => {
  let n = 0, most = 0;
  for (const at of time) if (at >= 0) { n++; if (at > most) most = at; }
  let from = new Uint32Array(n), to = new Uint32Array(n);
  for (let row = 0, k = 0; row < time.length; row++) if (time[row] >= 0) from[k++] = row;
  for (let unit = 1; unit <= most; unit *= 65536) {
    const starts = new Uint32Array(65537), digits = new Uint16Array(n);
    for (let k = 0; k < n; k++) starts[(digits[k] = Math.floor(time[from[k]] / unit) % 65536) + 1]++;
    for (let k = 0; k < 65536; k++) starts[k + 1] += starts[k];
    for (let k = 0; k < n; k++) to[starts[digits[k]]++] = from[k];
    [from, to] = [to, from];
  }
  return from;
};

export const labelOf = (labels, key) => labels.find((label) => label.key === key)?.value;

// "worker · 4712"
export const threadName = (labels) => [["thread", "process"], ["tid", "pid"]]
  .map(([own, other]) => labelOf(labels, own) ?? labelOf(labels, other)).filter((part) => part !== undefined).join(" · ");

const labelled = (labels) => {
  const key = ["tid", "thread", "pid"].find((one) => labelOf(labels, one) !== undefined) ?? "";
  return { key, value: key ? String(labelOf(labels, key)) : "", name: threadName(labels) || "all samples" };
};

// [{ id, name, key, value, rows, events, sum }], the busiest first.
export const threadsOf = (page, values) => {
  const { markers } = page, { time, set: setOf } = page.rows[0], ofSet = [], threads = new Map();
  const threadOf = (set) => {
    if (ofSet[set]) return ofSet[set];
    const whose = labelled(page.sets.labels(set)), id = `${whose.key}=${whose.value}`;
    if (!threads.has(id)) threads.set(id, { id, ...whose, rows: null, many: 0, events: [], sum: 0 });
    return (ofSet[set] = threads.get(id));
  };
  for (let i = 0; markers && i < markers.n; i++) threadOf(markers.set[i]).events.push(i);
  const order = time ? rowsByTime(time) : [];
  for (let k = 0; k < order.length; k++) threadOf(setOf[order[k]]).many++;
  for (const thread of threads.values()) { thread.rows = new Uint32Array(thread.many); thread.many = 0; }
  for (let k = 0; k < order.length; k++) {
    const row = order[k], thread = ofSet[setOf[row]];
    thread.rows[thread.many++] = row;
    thread.sum += values[row];
  }
  return [...threads.values()].sort((a, b) => b.sum - a.sum || b.rows.length - a.rows.length || b.events.length - a.events.length || (a.name < b.name ? -1 : 1));
};

export const hasTimes = (page) => Boolean(page.rows?.[0]?.time || page.markers);
