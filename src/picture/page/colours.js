// SPDX-License-Identifier: MIT
// Colours of frames: by kind as the writer chose them, by module, or by share. Readable under the
// text of the page in both themes.

const SHADES = 24, STEPS = 16;

// FNV-1a, as in palette.c: a module has the same colour in every picture.
const hashOf = (text) => {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash ^ (hash >>> 15)) >>> 0;
};

const moduleColour = (module, dark) => {
  if (!module) return dark ? "#4a4741" : "#dcd9d2";
  const hash = hashOf(module), hue = ((hash % SHADES) * 360) / SHADES, lift = (hash >>> 8) % 3;
  return dark ? `hsl(${hue} 38% ${27 + 2 * lift}%)` : `hsl(${hue} 58% ${74 + 3 * lift}%)`;
};

// From paper to a full orange; the steps are equal to the eye since lightness alone runs.
const shareColour = (share, dark) => {
  const t = Math.round(Math.sqrt(Math.min(1, Math.max(0, share))) * STEPS) / STEPS;
  return dark ? `hsl(${30 - 16 * t} ${8 + 52 * t}% ${25 + 13 * t}%)` : `hsl(${44 - 24 * t} ${22 + 66 * t}% ${91 - 25 * t}%)`;
};

// Blue where there is less, red where there is more, paper where nothing has changed; orange and
// violet for those who do not tell red from blue's neighbours.
const changeColour = (change, dark, safe) => {
  const t = Math.round(Math.sqrt(Math.abs(change)) * STEPS) / STEPS, hue = change > 0 ? (safe ? 32 : 6) : safe ? 262 : 216;
  if (t === 0) return dark ? "#45423c" : "#e6e2da";
  const step = dark ? (safe ? 9 : 13) : safe ? 20 : 22; // orange is the lightest colour, violet the darkest
  return dark ? `hsl(${hue} ${12 + 46 * t}% ${27 + step * t}%)` : `hsl(${hue} ${30 + 52 * t}% ${90 - step * t}%)`;
};

export class Colours {
  constructor(looks, meta) {
    Object.assign(this, { looks, meta, dark: false, by: "kind" });
    this.known = new Map();
  }

  get palette() { return this.meta.palettes[this.dark ? "dark" : "light"]; }
  get root() { return this.palette.kinds[this.meta.kinds.length - 1][0]; }
  set(by, dark) {
    if (by === this.by && dark === this.dark) return;
    Object.assign(this, { by, dark });
    this.known.clear();
  }

  get isOfChange() { return this.by === "change" || this.by === "safe"; }

  // Of a frame; `share` is that of its total, `change` from -1 to 1.
  of(look, share, change) {
    if (look < 0) return this.root;
    if (this.isOfChange) return changeColour(change, this.dark, this.by === "safe");
    if (this.by === "share") return shareColour(share, this.dark);
    let colour = this.known.get(look);
    if (colour === undefined) {
      colour = this.by === "module" ? moduleColour(this.looks.module(look), this.dark)
                                    : this.palette.kinds[this.looks.kind[look]][this.looks.shade[look]];
      this.known.set(look, colour);
    }
    return colour;
  }

  // Guessed, and nothing else.
  isUnsure(look) { return look >= 0 && this.looks.found[look] === 4; }

  // [colours, name, index or null]: what the picture's colours mean, by the self value of each.
  legend(selves) {
    const { looks, meta } = this;
    if (this.isOfChange)
      return [{ colours: Array.from({ length: 2 * STEPS + 1 }, (_, i) => changeColour(Math.sign(i - STEPS) * (i / STEPS - 1) ** 2, this.dark, this.by === "safe")), name: "gone, less, the same, more, new" }];
    if (this.by === "share")
      return [{ colours: Array.from({ length: STEPS + 1 }, (_, i) => shareColour((i / STEPS) ** 2, this.dark)), name: "0% to 100% of the total" }];
    const sums = new Map();
    for (let k = 0; k < looks.n; k++) {
      const key = this.by === "module" ? looks.module(k) : looks.kind[k];
      sums.set(key, (sums.get(key) ?? 0) + selves[k]);
    }
    const rows = [...sums].map(([key, self]) => this.by === "module"
      ? { colours: [moduleColour(key, this.dark)], name: key || "no module", module: key, self }
      : { colours: this.palette.kinds[key], name: meta.kinds[key], kind: key, self });
    return this.by === "module" ? rows.sort((a, b) => b.self - a.self).slice(0, 12)
                                : rows.sort((a, b) => a.kind - b.kind);
  }
}
