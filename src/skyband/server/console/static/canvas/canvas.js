// A board on a screen: how it is moved by pointer, wheel and keys, what is pointed at, and its buttons.

import { html, useEffect, useRef, useState } from "../preact.js";
import { wantsCalm } from "../theme.js";

const STEP = 1.4;
const PAN_PX = 60;

// `told` says what a mark is called; `pick` takes one that was pressed.
export function Canvas({ kind, shown, theme, label, told, pick, note, children }) {
  const canvas = useRef(null);
  const board = useRef(null);
  const [near, setNear] = useState(null);
  useEffect(() => {
    board.current = new kind(canvas.current, { calm: wantsCalm() });
    return () => board.current.close();
  }, []);
  useEffect(() => board.current.recolour(), [theme]);
  useEffect(() => board.current.show(shown));
  const pointers = usePointers(board, setNear, pick);
  return html`<div class="map"><canvas ref=${canvas} tabindex="0" role="img" aria-label=${label} ...${pointers}></canvas>
    ${near && html`<div class="map-tip" style=${{ left: `${near.px}px`, top: `${near.py}px` }}>${told(near.mark)}</div>`}
    <div class="map-tools" role="group" aria-label="View">
      <button aria-label="Nearer" onClick=${() => board.current.zoom(STEP)}>+</button><button aria-label="Farther" onClick=${() => board.current.zoom(1 / STEP)}>−</button>
      <button aria-label="Show everything" onClick=${() => board.current.fit()}>⤢</button></div>
    ${children}${note && html`<span class="map-count" aria-hidden="true">${note}</span>`}</div>`;
}

function usePointers(board, setNear, pick) {
  const held = useRef(new Map());
  const from = useRef(null);
  const place = (event) => [event.offsetX, event.offsetY];
  const drag = (event) => {
    const [px, py] = place(event);
    const [before, other] = [held.current.get(event.pointerId), [...held.current].find(([id]) => id !== event.pointerId)?.[1]];
    held.current.set(event.pointerId, [px, py]);
    // Two fingers bring it nearer as they part.
    if (other) return board.current.zoom(apart([px, py], other) / Math.max(apart(before, other), 1), ...other);
    const [[x0, y0], [x1, y1]] = [board.current.under(...before), board.current.under(px, py)];
    return board.current.pan(x0 - x1, y0 - y1);
  };
  return {
    onPointerDown: (event) => {
      event.target.setPointerCapture(event.pointerId);
      held.current.set(event.pointerId, place(event));
      from.current = place(event);
    },
    onPointerUp: (event) => {
      held.current.delete(event.pointerId);
      const mark = from.current && apart(from.current, place(event)) < 4 && board.current.nearest(...place(event));
      if (mark && pick) pick(mark);
    },
    onPointerCancel: (event) => held.current.delete(event.pointerId),
    onPointerLeave: () => setNear(null),
    onPointerMove: (event) => {
      if (held.current.has(event.pointerId)) return drag(event);
      const [px, py] = place(event);
      const mark = board.current.nearest(px, py);
      return setNear(mark && { mark, px, py });
    },
    onWheel: (event) => {
      event.preventDefault();
      board.current.zoom(Math.exp(-event.deltaY / 400), ...place(event));
    },
    onKeyDown: (event) => takeKey(board.current, event),
  };
}

function takeKey(board, event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const step = steps[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (step) board.pan((step[0] * PAN_PX) / board.view.scale, (step[1] * PAN_PX) / board.view.scale / board.stretch);
  else if (event.key === "+" || event.key === "-") board.zoom(event.key === "+" ? STEP : 1 / STEP);
  else if (event.key === "0") board.fit();
  else return;
  event.preventDefault();
}

const apart = ([x0, y0], [x1, y1]) => Math.hypot(x1 - x0, y1 - y0);
