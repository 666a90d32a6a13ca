// SPDX-License-Identifier: MIT
// What can be done with a frame, as a menu beside it and as buttons of the facts panel.
import { byId, button, copyText, make } from "./dom.js";

// The names from the root to a node, or one name where there is no node.
export const stackText = ({ looks }, tree, node, look) =>
  tree ? tree.pathTo(node).filter((i) => tree.look[i] >= 0).map((i) => looks.name(tree.look[i])).join("\n") : looks.name(look);

// [text, key or "", what it does]; null parts groups.
export const actionsOf = (app, tree, node, look) => {
  const { looks, state } = app, module = looks.module(look);
  const ask = (name, of) => () => app.ask({ ask: name, of });
  if (look < 0) return [["Collapse recursion", "r", () => app.ask({ ask: "recursion" })], ["Copy link", "", () => copyText(app.link(), "Link")]];
  return [
    ["Callers and callees", "s", () => state.set({ fn: look, view: "sandwich" })],
    ["Search for it", "", () => app.search(looks.name(look))],
    null,
    ["Only stacks through it", "f", ask("focus", look)],
    ["Only it and below", "b", ask("below", look)],
    ["Only it and above", "a", ask("above", look)],
    ["Without stacks through it", "x", ask("drop", look)],
    ["Hide the function", "h", ask("hide", look)],
    ["Collapse recursion", "r", () => app.ask({ ask: "recursion" })],
    ...(module ? [[`Collapse ${module}`, "c", ask("module", module)]] : []),
    null,
    ["Copy name", "y", () => copyText(looks.name(look), "Name")],
    ["Copy stack", "Y", () => copyText(stackText(app, tree, node, look), "Stack")],
    ["Copy link", "", () => copyText(app.link(), "Link")],
    ["Details", "d", () => state.set({ facts: true }, true)],
  ];
};

let closeMenu = () => {};

export const openMenu = (app, tree, node, x, y) => {
  closeMenu();
  const look = tree ? tree.look[node] : node, menu = byId("menu"), before = document.activeElement;
  const items = actionsOf(app, tree, node, look).map((action) => {
    if (!action) return make("hr");
    const [text, key, act] = action;
    return make("button", text, { type: "button", role: "menuitem", onclick: () => { closeMenu(); act(); } }, ...(key ? [make("kbd", key)] : []));
  });
  menu.replaceChildren(make("strong", app.looks.short(look), { title: app.looks.name(look) }), ...items);
  menu.hidden = false;
  const { width, height } = menu.getBoundingClientRect();
  menu.style.transform = `translate(${Math.max(8, Math.min(x, innerWidth - width - 8))}px, ${Math.max(8, Math.min(y, innerHeight - height - 8))}px)`;
  menu.querySelector("button").focus({ preventScroll: true });
  const outside = (event) => { if (!menu.contains(event.target)) closeMenu(); };
  const keys = (event) => {
    const buttons = [...menu.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) buttons.at(to % buttons.length).focus();
    else if (event.key === "Escape" || event.key === "Tab") closeMenu();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  closeMenu = () => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside);
    menu.removeEventListener("keydown", keys);
    before?.focus?.({ preventScroll: true });
    closeMenu = () => {};
  };
  addEventListener("pointerdown", outside);
  menu.addEventListener("keydown", keys);
};

export const isMenuOpen = () => !byId("menu").hidden;
