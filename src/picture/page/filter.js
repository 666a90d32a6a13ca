// SPDX-License-Identifier: MIT
// Which samples count: by what they are labelled with, and by when they were.
//
// A filter: { labels: { key: [value, ...] }, span: [from, to] }, times in µs since the first one.
// Of one key any of the values will do; of several keys all are asked for.

export const setsKept = ({ sets }, labels) => {
  const kept = new Uint8Array(sets.n), asked = Object.entries(labels);
  for (let set = 0; set < sets.n; set++) {
    const own = sets.labels(set);
    kept[set] = asked.every(([key, values]) =>
      own.some((label) => label.key === key && values.includes(String(label.value)))) ? 1 : 0;
  }
  return kept;
};

// By row 1 where it counts; null where all do.
export const keptRows = (page, { labels = {}, span = null }, side = 0) => {
  const rows = page.rows?.[side];
  if (!rows || (!Object.keys(labels).length && !span)) return null;
  const kept = setsKept(page, labels), keep = new Uint8Array(rows.n);
  for (let row = 0; row < rows.n; row++) keep[row] = kept[rows.set[row]];
  if (span && rows.time)
    for (let row = 0; row < rows.n; row++)
      if (rows.time[row] < span[0] || rows.time[row] > span[1]) keep[row] = 0;
  return keep;
};

// The keys of labels there are, each with its values and the number of samples of each.
export const labelsOf = (page) => {
  const rows = page.rows?.[0], keys = new Map();
  if (!rows) return keys;
  const many = new Float64Array(page.sets.n);
  for (let row = 0; row < rows.n; row++) many[rows.set[row]]++;
  for (let set = 0; set < page.sets.n; set++)
    for (const { key, value } of many[set] ? page.sets.labels(set) : []) {
      if (!keys.has(key)) keys.set(key, new Map());
      const values = keys.get(key), text = String(value);
      values.set(text, (values.get(text) ?? 0) + many[set]);
    }
  return keys;
};
