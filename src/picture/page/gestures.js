// SPDX-License-Identifier: MIT
// Fingers, wheels and mice over a chart. Up and down scrolls as everywhere; to the side, and to pinch
// (or Ctrl and the wheel), moves and stretches the part of the whole that is shown.

const CLICK_PX = 5, HOLD_MS = 500;

// `on`: { range() -> [from, to], show(from, to), scroll(dy), click(event), hold(event), width() }
export const listenToGestures = (element, on) => {
  const pointers = new Map();
  let moved = 0, last = null, holding = 0;

  const clamp = (from, to) => {
    const span = Math.min(1, to - from), start = Math.min(Math.max(0, from), 1 - span);
    on.show(start, start + span);
  };
  const stretch = (factor, x) => {
    const [from, to] = on.range(), at = from + (x / on.width()) * (to - from);
    const span = Math.max(1e-9, (to - from) * factor);
    clamp(at - ((at - from) * span) / (to - from), at - ((at - from) * span) / (to - from) + span);
  };
  const slide = (dx) => {
    const [from, to] = on.range(), by = (-dx / on.width()) * (to - from);
    clamp(from + by, to + by);
  };
  const inside = (x) => x - element.getBoundingClientRect().left;

  element.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) stretch(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), inside(event.clientX));
    else if (event.shiftKey) slide(-(event.deltaX || event.deltaY));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) slide(-event.deltaX);
    else return;
    event.preventDefault();
  }, { passive: false });

  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { middle: (a.x + b.x) / 2, gap: Math.max(10, Math.hypot(a.x - b.x, a.y - b.y)) };
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = pointers.size > 1 ? CLICK_PX + 1 : 0;
    last = pointers.size === 2 ? spread() : null;
    clearTimeout(holding);
    if (event.pointerType === "touch" && pointers.size === 1) holding = setTimeout(() => { moved = CLICK_PX + 1; on.hold(event); }, HOLD_MS);
  });
  element.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.x, dy = event.clientY - before.y;
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > CLICK_PX) clearTimeout(holding);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pointers.size === 2 && last) {
      const now = spread();
      stretch(last.gap / now.gap, inside(last.middle));
      slide(now.middle - last.middle);
      last = now;
    } else if (pointers.size === 1 && moved > CLICK_PX) {
      if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      slide(dx);
      if (event.pointerType === "mouse") on.scroll(-dy);
    }
  });
  const end = (event) => {
    pointers.delete(event.pointerId);
    clearTimeout(holding);
    last = null;
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("click", (event) => { if (moved <= CLICK_PX) on.click(event); });
  return { isDragging: () => pointers.size > 0 && moved > CLICK_PX };
};
