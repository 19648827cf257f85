// Map: what arrives, where it lies, and chosen subscribers with their tops.

import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { setWords, shownNames } from "../address.js";
import { coast } from "../coast.js";
import { Empty, Panel, Screen } from "../parts.js";
import { boundsOf, dimensionsOf, isOnEarth, placeOf, windowLength } from "../place.js";
import { Plane } from "../plane.js";
import { known, theStream } from "../store.js";
import { Chooser, colourOf, useSome, useSubscriptions } from "../subscribers.js";
import { wantsCalm } from "../theme.js";
import { count, titleOf } from "../words.js";

const LATEST = 12;

export function MapScreen({ query, theme }) {
  const stream = theStream();
  const names = shownNames(query);
  const { list, more } = useSubscriptions(known.stream);
  useSome(known.stream, names, list);
  const latest = known.arrivals.slice(-LATEST).reverse();
  const path = `/v1/console/feed?${new URLSearchParams([["stream", known.stream ?? ""], ...names.map((name) => ["subscription", name])])}`;
  if (known.vitals && !stream)
    return html`<${Screen} title="Map" about="What arrives, where it lies."><${Empty} title="There is no stream yet">
      Open one first: the <a href="#/overview">overview</a> says how.<//><//>`;
  return html`<${Screen} title="Map" about="What arrives, where it lies, and the tops of whom you choose." request=${{ path, streams: true }}>
    <${Chooser} stream=${known.stream} names=${names} list=${list} more=${more} />
    <div class="map-and-list"><${Canvas} stream=${stream} names=${names} list=${list} theme=${theme} query=${query} />
      <${Panel} title="The stream, newest first" kind="latest"><ol>${latest.map(({ id, row }) => html`<li key=${id}>${titleOf(row, id)}</li>`)}</ol>
        ${!latest.length && html`<p class="waiting">Nothing has arrived since this page was opened. Publish to the stream, and it is seen here at once.</p>`}<//></div>
  <//>`;
}

function Canvas({ stream, names, list, theme, query }) {
  const canvas = useRef(null);
  const plane = useRef(null);
  const [land, setLand] = useState(null);
  const [told, setTold] = useState(null);
  const n = dimensionsOf(known.arrivals.at(-1)?.row);
  const dims = (query.get("axes") || "0,1").split(",").map(Number);
  const earth = isOnEarth(stream);
  useEffect(() => {
    plane.current = new Plane(canvas.current, { calm: wantsCalm() });
    return () => plane.current.close();
  }, []);
  useEffect(() => {
    if (earth) coast().then(setLand);
  }, [earth]);
  useEffect(() => plane.current.recolour(), [theme]);
  const points = usePoints(stream, dims);
  const people = names.map((name) => personOf(name, colourOf(names, name), list, dims));
  useEffect(() => {
    const places = [...points.map((point) => point.xy), ...people.map((one) => one.xy).filter(Boolean)];
    const ratio = earth || Array.isArray(stream?.bounds) ? "same" : "free";
    plane.current.show({ points, people, land, box: boundsOf(stream, places), ratio });
  });
  const pointers = usePointers(plane, setTold);
  return html`<div class="map"><canvas ref=${canvas} tabindex="0" role="img" ...${pointers}
      aria-label=${`A map with ${count(points.length)} live publications and ${people.length} subscribers`}></canvas>
    ${told && html`<div class="map-tip" style=${{ left: `${told.px}px`, top: `${told.py}px` }}>${titleOf(known.rows.get(told.id), told.id)}</div>`}
    <div class="map-tools" role="group" aria-label="Map">
      <button aria-label="Nearer" onClick=${() => plane.current.zoom(1.4)}>+</button><button aria-label="Farther" onClick=${() => plane.current.zoom(1 / 1.4)}>−</button>
      <button aria-label="Show everything" onClick=${() => plane.current.fit()}>⤢</button></div>
    ${n > 2 && html`<div class="map-axes">${["Across", "Up"].map((label, i) => html`<label>${label} <select value=${dims[i]}
      onChange=${(event) => setWords({ axes: dims.map((dim, j) => (i === j ? event.target.value : dim)).join() })}>
      ${Array.from({ length: n }, (_, dim) => html`<option value=${dim}>dimension ${dim + 1}</option>`)}</select></label>`)}</div>`}
    <span class="map-count" aria-hidden="true">${count(points.length)} live</span></div>`;
}

// Those that are live yet, by the time of the stream.
function usePoints(stream, dims) {
  const last = known.arrivals.at(-1);
  return useMemo(() => {
    const ends = (stream?.now ?? 0) - windowLength(stream?.window);
    const found = [];
    for (const { id, row, at } of known.arrivals) {
      const xy = placeOf(row, dims);
      if (xy && !(row.ts <= ends)) found.push({ id, xy, at });
    }
    return found;
  }, [last?.id, stream?.now, String(dims)]);
}

function personOf(name, colour, list, dims) {
  const asked = (list ?? []).find((one) => String(one.id) === name);
  const ties = (known.tops.get(name) ?? []).map((entry, i) => ({ xy: placeOf(known.rows.get(entry.id), dims), rank: i + 1 }));
  return { name, colour, xy: placeOf(asked, dims), ties: ties.filter((tie) => tie.xy) };
}

function usePointers(plane, setTold) {
  const held = useRef(null);
  const place = (event) => [event.offsetX, event.offsetY];
  return {
    onPointerDown: (event) => {
      event.target.setPointerCapture(event.pointerId);
      held.current = plane.current.under(...place(event));
    },
    onPointerUp: () => (held.current = null),
    onPointerLeave: () => setTold(null),
    onPointerMove: (event) => {
      const [px, py] = place(event);
      if (held.current) {
        const [x, y] = plane.current.under(px, py);
        return plane.current.pan(held.current[0] - x, held.current[1] - y);
      }
      const near = plane.current.nearest(px, py);
      return setTold(near && { id: near.id, px, py });
    },
    onWheel: (event) => {
      event.preventDefault();
      plane.current.zoom(Math.exp(-event.deltaY / 400), ...place(event));
    },
    onKeyDown: (event) => {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const step = steps[event.key];
      if (step) plane.current.pan((step[0] * 60) / plane.current.view.scale, (step[1] * 60) / plane.current.view.scale);
      else if (event.key === "+" || event.key === "-") plane.current.zoom(event.key === "+" ? 1.4 : 1 / 1.4);
      else if (event.key === "0") plane.current.fit();
      else return;
      event.preventDefault();
    },
  };
}
