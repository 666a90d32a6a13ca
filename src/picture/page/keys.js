// SPDX-License-Identifier: MIT
// The keyboard.
import { VIEWS } from "./state.js";
import { actionsOf, isMenuOpen } from "./actions.js";
import { openSheet } from "./sheet.js";
import { byId } from "./dom.js";

const plain = {
  "/": () => byId("search").select(),
  "?": () => openSheet(),
  0: (app) => app.reset(),
  i: (app) => app.flip(),
  t: (app) => app.setView(app.state.view === "table" ? "flame" : "table"),
  o: (app) => app.toggleOrder(),
  d: (app) => app.state.set({ facts: !app.state.facts }, true),
  n: (app) => app.searchBox.step(1),
  N: (app) => app.searchBox.step(-1),
  Backspace: () => history.back(),
};

const escape = (app, typing) => {
  const filters = byId("filters");
  if (typing) typing.blur();
  if (!filters.hidden) byId("filter").click();
  else app.leave();
};

const press = (app, event) => {
  const { key } = event;
  const view = VIEWS[Number(key) - 1];
  if (view) {
    if (!document.querySelector(`#views button[data-view="${view}"]`).disabled) app.setView(view);
    return true;
  }
  if (Object.hasOwn(plain, key)) {
    plain[key](app);
    return true;
  }
  if (app.view.press(key, event)) return true;
  const { tree, node, look } = app.selection();
  const action = look >= 0 && key.length === 1 ? actionsOf(app, tree, node, look).find((one) => one && one[1] === key)
                                               : key === "r" && [0, 0, () => app.toggleRecursion()];
  if (action) action[2]();
  return Boolean(action);
};

export const listenToKeys = (app) => {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("sheet").open || isMenuOpen()) return;
    const target = event.target.closest ? event.target : document.body;
    const typing = target.closest("input, select, textarea");
    if (event.key === "Escape") {
      event.preventDefault();
      escape(app, typing);
      return;
    }
    if (typing && !(typing.type === "checkbox" && event.key !== " ")) return;
    const isButton = target.closest("button") && !target.closest("tbody");
    if (isButton && (event.key === "Enter" || event.key === " ")) return;
    if (press(app, event)) event.preventDefault();
  });
};
