// SPDX-License-Identifier: MIT
// Elements. Names from a target are only ever set as text, never as markup.

export const byId = (id) => document.getElementById(id);

// make("td", "text", { title: "…" }, child, …): properties in an object, children after it.
export const make = (tag, text = "", ...rest) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  for (const part of rest) {
    if (part instanceof Node || typeof part === "string") element.append(part);
    else
      for (const [key, value] of Object.entries(part))
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key in element && !key.includes("-")) element[key] = value;
        else element.setAttribute(key, value);
  }
  return element;
};

export const button = (text, title, onclick, more = {}) => make("button", text, { type: "button", title, onclick, ...more });

// What is said to those who do not see the chart.
export const speak = (text) => { byId("spoken").textContent = text.slice(0, 400); };

// Short news that go away by themselves: what was copied or saved.
let fading = 0;
export const notice = (text) => {
  const element = byId("notice");
  element.textContent = text;
  element.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { element.hidden = true; }, 2500);
};

export const copyText = async (text, what) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no permission, or an old browser
    const box = make("textarea", text, { className: "unseen" });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  notice(`${what} copied`);
};

export const saveFile = (blob, name) => {
  const url = URL.createObjectURL(blob), link = make("a", "", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  notice(`${name} saved`);
};
