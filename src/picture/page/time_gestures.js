// SPDX-License-Identifier: MIT
// The pointer and the wheel over the timeline: a drag selects a span, Ctrl and the wheel stretch, the wheel
// to the side moves.
const CLICK_PX = 3;

export const listenToTime = (view) => {
  const { canvas, events, walk } = view;
  let dragFrom = -1;
  const inside = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const at = (event) => view.timeAt(Math.min(view.width, Math.max(0, inside(event)[0])));
  canvas.addEventListener("wheel", (event) => {
    const side = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    if (event.ctrlKey || event.metaKey) view.stretch(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), inside(event)[0]);
    else if (Math.abs(side) >= Math.abs(event.deltaY) && side) view.slide(side / view.width);
    else return;
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    const box = walk.at(...inside(event))?.box;
    if (box) walk.zoomTo(box);
    else view.home();
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    dragFrom = at(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragFrom < 0) return point(event);
    view.dragged = [Math.min(dragFrom, at(event)), Math.max(dragFrom, at(event))].map(Math.round);
    view.redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const wide = view.dragged && view.dragged[1] - view.dragged[0] > (CLICK_PX / view.width) * (view.high - view.low);
    const wasDown = dragFrom >= 0, { dragged } = view;
    dragFrom = -1;
    view.dragged = null;
    if (wide) view.select(dragged);
    else if (wasDown && !(view.heap ?? walk).click(...inside(event)) && dragged) view.select(null);
  });
  canvas.addEventListener("pointercancel", () => { // the browser scrolls instead
    dragFrom = -1;
    view.dragged = null;
    view.redraw();
  });
  canvas.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    walk.menu(...inside(event), event);
  });
  const point = (event) => {
    const [x, y] = inside(event);
    if (view.heap) return view.heap.point(event, x, y);
    if (walk.point(event, x, y)) events.leave(true);
    else events.point(event, view);
  };
  canvas.addEventListener("pointerleave", () => { events.leave(); walk.leave(); view.heap?.leave(); });
};
