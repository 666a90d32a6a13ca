// SPDX-License-Identifier: MIT
// Numbers as people read them.

const scales = {
  nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]],
  microseconds: [[1e6, "s"], [1e3, "ms"], [1, "us"]],
  milliseconds: [[1e3, "s"], [1, "ms"]],
  seconds: [[1, "s"]],
  bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
};

// By hand: the browser's own way loads tables of languages first, which takes longer than to draw.
export const counted = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

const oneOf = { samples: "sample", blocks: "block", allocations: "allocation", events: "event" };

// "2 samples", "1 sample"; what is no plain word stays as the profile names it.
const named = (value, name) =>
  `${counted(value)} ${Math.abs(Math.round(value)) === 1 && Object.hasOwn(oneOf, name) ? oneOf[name] : name}`.trim();

export const inUnit = (value, unit) => {
  const scale = Object.hasOwn(scales, unit) && scales[unit];
  if (!scale) return named(value, unit);
  const [size, name] = scale.find(([s]) => Math.abs(value) >= s) || scale[scale.length - 1];
  const shown = value / size;
  return `${shown.toFixed(size === 1 ? 0 : Math.abs(shown) < 10 ? 2 : 1)} ${name}`;
};

export const valueText = (value, { type, unit } = { type: "", unit: "" }) =>
  inUnit(value, unit === "count" || !unit ? type : unit);

export const percent = (value, whole) => {
  const share = whole ? (100 * value) / whole : 0;
  return `${share.toFixed(Math.abs(share) < 10 ? 2 : 1)}%`;
};

export const typeName = ({ type, unit }) => (unit === "count" || !unit ? type : `${type} (${unit})`);

// "2 places", "1 place"
export const many = (n, word) => `${counted(n)} ${word}${n === 1 ? "" : "s"}`;
