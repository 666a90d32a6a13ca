// SPDX-License-Identifier: MIT
// Columns: the blocks of the page (picture/html.c says what they are) as typed arrays. Knows nothing
// of trees but their order.
"use strict";

const bytesOf = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

const joinBytes = (pieces) => {
  const all = new Uint8Array(pieces.reduce((n, { length }) => n + length, 0));
  let at = 0;
  for (const piece of pieces) { all.set(piece, at); at += piece.length; }
  return all;
};

const SMALL = 1024; // bytes: to make a stream takes longer than to inflate so few by hand

// By the ends of the stream, which hands on at once: a Blob or a Response would wait for other threads.
const inflate = async (bytes) => {
  if (bytes.length < SMALL) return inflateByHand(bytes);
  let stream;
  try {
    stream = new DecompressionStream("deflate-raw");
  } catch {
    return inflateByHand(bytes);
  }
  const writer = stream.writable.getWriter(), reader = stream.readable.getReader(), pieces = [];
  const written = Promise.allSettled([writer.write(bytes), writer.close()]); // the reader hears of errors, too
  for (let piece; !(piece = await reader.read()).done; ) pieces.push(piece.value);
  await written;
  return joinBytes(pieces);
};

// The planes of a column, low bytes first; none where the page has no such column.
const readPlanes = async (id) => {
  const element = document.getElementById(`data-${id}`);
  if (!element) return [];
  const text = element.textContent;
  element.remove(); // its megabytes are not needed again
  return Promise.all(text.split(".").filter((plane) => plane).map((plane) => inflate(bytesOf(plane))));
};

// Planes to numbers, in `out` from `first` on. Beyond 2^53 the last digits are lost, as in every
// number here.
const joinPlanes = (planes, out, first = 0) => {
  const [a, b] = planes, n = a ? a.length : 0;
  if (planes.length === 1) out.set(a, first);
  else if (planes.length === 2) for (let i = 0; i < n; i++) out[first + i] = a[i] | (b[i] << 8);
  else
    planes.forEach((plane, k) => {
      const scale = 256 ** k;
      if (k === 0) out.set(plane, first);
      else for (let i = 0; i < n; i++) if (plane[i]) out[first + i] += plane[i] * scale;
    });
  return out;
};

const lengthOf = (planes) => (planes.length ? planes[0].length : 0);
const numbers = (planes, kind = Uint32Array) => joinPlanes(planes, new kind(lengthOf(planes)));

// Zigzag, times `unit`.
const signed = (values, unit = 1) => {
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v) values[i] = (v % 2 ? -(v + 1) / 2 : v / 2) * unit;
  }
  return values;
};

const sumUp = (values) => {
  for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
  return values;
};

const textIds = ["name", "short", "file", "module", "path", "build"];
const looksOf = (columns, texts, { kinds }) => {
  const of = (id) => numbers(columns[`look-${id}`]);
  const looks = { n: lengthOf(columns["look-name"]) };
  for (const id of textIds) {
    const rows = of(id), ofRoot = id === "name" || id === "short" ? "all" : "";
    looks[id] = (look) => (look < 0 ? ofRoot : texts[rows[look]]);
  }
  const shorts = numbers(columns["look-short"]);
  looks.short = (look) => (look >= 0 && shorts[look] ? texts[shorts[look]] : looks.name(look));
  looks.lineLow = of("low");
  looks.lineHigh = of("high");
  looks.defined = of("defined");
  for (const id of ["kind", "shade", "found", "flags"]) looks[id] = Uint8Array.from(of(id));
  // Frames of interpreters, and native code of one, by number of the kind. A chunk is where one's text came from.
  Object.assign(looks, { guest: kinds.indexOf("Lua"), own: kinds.indexOf("interpreter") });
  looks.isGuest = (look) => look >= 0 && looks.kind[look] === looks.guest;
  looks.chunk = (look) => (looks.isGuest(look) ? looks.file(look) : "");
  looks.hasGuests = looks.kind.some((kind) => kind === looks.guest || kind === looks.own);
  // A function may have looks of several kinds, which stand side by side: the number of the first.
  looks.same = new Int32Array(looks.n);
  const ids = ["name", "module", "file"].map(of);
  for (let k = 1; k < looks.n; k++) looks.same[k] = ids.every((rows) => rows[k] === rows[k - 1]) ? looks.same[k - 1] : k;
  return looks;
};

const setsOf = (columns, texts) => {
  const sizes = numbers(columns["set-size"]), ends = sumUp(sizes.slice());
  const [keys, values, units] = ["key", "text", "unit"].map((id) => numbers(columns[`label-${id}`]));
  const exact = signed(numbers(columns["label-number"], Float64Array));
  const label = (i) => ({
    key: texts[keys[i]],
    value: values[i] ? texts[values[i]] : exact[i],
    isNumber: !values[i],
    unit: texts[units[i]],
  });
  return {
    n: sizes.length,
    labels: (set) => Array.from({ length: sizes[set] }, (_, i) => label(ends[set] - sizes[set] + i)),
  };
};

// The samples, in the order of nodes. values(type) is kept until another type is asked for.
const rowsOf = (columns, meta, prefix) => {
  const node = sumUp(numbers(columns[`${prefix}row-node`]));
  const times = columns[`${prefix}row-time`];
  const column = (type) => signed(numbers(columns[`${prefix}row-${type}`], Float64Array), meta.types[type].scale);
  let time = null, kept = -1, values = null;
  if (times.length) {
    time = sumUp(signed(numbers(times, Float64Array)));
    for (let i = 0; i < time.length; i++) time[i] -= 1;
  }
  return {
    n: node.length, node, time, set: numbers(columns[`${prefix}row-set`]), column,
    values: (type) => {
      if (kept !== type) values = column(type);
      kept = type;
      return values;
    },
  };
};

// A tree of samples; the names of its columns begin with `prefix`.
const treeOf = (columns, meta, prefix = "") => {
  const n = lengthOf(columns[`${prefix}steps`]) + 1, olds = meta.sides.map((_, side) => (side ? "old-" : "") + prefix);
  const tree = {
    n, types: meta.types, sides: meta.sides.length,
    depth: joinPlanes(columns[`${prefix}steps`], new Uint32Array(n), 1),
    look: joinPlanes(columns[`${prefix}looks`], new Int32Array(n), 1),
    rows: olds.map((own) => (meta.rows ? rowsOf(columns, meta, own) : null)),
  };
  tree.look[0] = -1;
  // A step says how many levels to climb before going one down.
  for (let i = 1, d = 0; i < n; i++) tree.depth[i] = d = d + 1 - tree.depth[i];

  // What ended in each node; of the rows with a 1 in `keep`, where that is given.
  tree.self = (type, side = 0, keep = null) => {
    const rows = tree.rows[side], self = new Float64Array(n);
    if (!rows) return signed(joinPlanes(columns[`${olds[side]}self-${type}`], self), meta.types[type].scale);
    const { node } = rows, values = rows.values(type);
    for (let i = 0; i < rows.n; i++) if (!keep || keep[i]) self[node[i]] += values[i];
    return self;
  };
  return tree;
};

// The samples by line, made when somebody looks: { look, line } of each one, and a page of their tree.
const heatOf = (columns, meta, page) => {
  const look = numbers(columns["heat-look"]), line = numbers(columns["heat-line"]);
  let tree = null;
  return look.length ? { look, line, get page() { return (tree ??= { ...treeOf(columns, meta, "heat-"), sets: page.sets }); } } : null;
};

// Events, in order of time: { n, time (µs), took (ns), name(i), set, node }, or null.
const markersOf = (columns, texts) => {
  const of = (id, kind) => numbers(columns[`marker-${id}`], kind), names = of("name");
  if (!names.length) return null;
  return { n: names.length, time: sumUp(of("time", Float64Array)), took: of("took", Float64Array), name: (i) => texts[names[i]], set: of("set"), node: of("node") };
};

const sourceOf = (columns, texts) => {
  const files = numbers(columns["source-file"]), lines = numbers(columns["source-line"]);
  if (!files.length) return null;
  const shown = new TextDecoder().decode(columns["source-texts"][0]).split("\0"), byFile = new Map();
  files.forEach((file, i) => {
    if (!byFile.has(texts[file])) byFile.set(texts[file], []);
    byFile.get(texts[file]).push({ line: lines[i], text: shown[i] });
  });
  return { lines: (file) => byFile.get(file) || [] };
};

const readPage = async (meta) => {
  const perSide = ["", "heat-"].flatMap((prefix) => [...(meta.rows ? ["row-node", "row-set", "row-time"] : []),
    ...meta.types.map((_, type) => `${meta.rows ? "row" : "self"}-${type}`)].map((id) => prefix + id));
  const ids = ["steps", "looks", "texts", ...textIds.map((id) => `look-${id}`), "look-low", "look-high", "look-defined",
    "look-kind", "look-shade", "look-found", "look-flags", "set-size", "label-key", "label-text",
    "label-number", "label-unit", ...meta.sides.flatMap((_, side) => perSide.map((id) => (side ? "old-" : "") + id)),
    "marker-time", "marker-took", "marker-name", "marker-set", "marker-node", "heat-look", "heat-line", "heat-steps", "heat-looks", "source-file", "source-line", "source-texts",
    ...meta.lines.flatMap((_, i) => [`line-time-${i}`, `line-value-${i}`])];
  const columns = {};
  await Promise.all(ids.map(async (id) => { columns[id] = await readPlanes(id); }));

  const texts = new TextDecoder().decode(columns.texts[0]).split("\0");
  const page = {
    ...treeOf(columns, meta), shown: meta.shown,
    looks: looksOf(columns, texts, meta),
    sets: setsOf(columns, texts),
    timeFirst: meta.sides.map(({ first_ns }) => Number(first_ns) / 1e6),
    markers: markersOf(columns, texts),
    source: sourceOf(columns, texts),
    lines: meta.lines.map(({ name, unit }, i) => ({
      name, unit,
      time: numbers(columns[`line-time-${i}`], Float64Array),
      value: signed(numbers(columns[`line-value-${i}`], Float64Array)),
    })),
  };
  page.heat = heatOf(columns, meta, page);
  return page;
};
