// SPDX-License-Identifier: MIT
// The sheet of keys.
import { byId, button, make } from "./dom.js";

const KEYS = [
  ["Views", [["1 … 6", "flame, inverted, sandwich, table, tree, timeline"], ["i", "roots at the bottom, or at the top"], ["o", "order by weight, or by name"], ["t", "the table, and back"], ["d", "details of the selected frame"]]],
  ["Ways", [["← ↑ ↓ →", "walk from frame to frame"], ["Enter", "zoom into it; elsewhere its callers and callees"], ["m", "what can be done with it"], ["Backspace", "back, as in the browser"], ["0", "all again, with what was asked"], ["Esc", "close, then take everything back"]]],
  ["Search", [["/", "search; between slashes a regular expression"], ["Enter, n", "next match"], ["Shift+Enter, N", "previous match"]]],
  ["The selected function", [["s", "its callers and callees"], ["f", "only stacks through it"], ["b", "only it and below"], ["a", "only it and above"], ["x", "without stacks through it"], ["h", "hide it"], ["c", "collapse its module"], ["r", "collapse recursion"], ["y, Y", "copy its name, its stack"]]],
  ["Timeline", [["← →", "move the span"], ["Shift+← →", "make it shorter or longer"], ["+, -", "stretch what is shown, and back; also Ctrl+wheel"], ["PageUp, PageDown", "move what is shown; also the wheel with Shift"], ["↓ ↑", "walk through the stacks"], [", .", "the run of frames before, behind"], ["Enter", "stretch to the run; also a double click on it"], ["double click", "beside the stacks: all of the time"]]],
  ["Mouse and fingers", [["click", "zoom"], ["right click, long press", "what can be done"], ["wheel", "up and down; to the side with Shift"], ["pinch, Ctrl+wheel", "stretch"], ["drag", "move"]]],
];

export const openSheet = () => {
  const dialog = byId("sheet");
  if (!dialog.firstChild)
    dialog.append(
      make("header", "", make("h2", "Keys"), button("×", "Close (Esc)", () => dialog.close(), { className: "close", "aria-label": "Close" })),
      make("div", "", ...KEYS.map(([title, rows]) => make("section", "", make("h3", title),
        make("dl", "", ...rows.flatMap(([keys, text]) => [make("dt", "", ...keys.split(", ").map((key) => make("kbd", key))), make("dd", text)]))))));
  dialog.showModal();
};
