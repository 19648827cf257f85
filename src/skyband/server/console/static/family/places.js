// Publications where they lie, on a plane or on the Earth, and points of more dimensions in two of them.

import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { Canvas } from "../canvas/canvas.js";
import { Plane } from "../canvas/plane.js";
import { coast } from "../coast.js";
import { Axes, dimensionsIn } from "../axes.js";
import { Latest } from "../latest.js";
import { boundsOf, dimensionsOf, isOnEarth, placeOf, windowLength } from "../place.js";
import { known } from "../store.js";
import { colourOf } from "../subscribers.js";
import { count, titleOf } from "../words.js";

export function Places({ stream, names, list, query, theme }) {
  const [land, setLand] = useState(null);
  const n = dimensionsOf(known.arrivals.at(-1)?.row);
  const dims = dimensionsIn(query, n);
  const earth = isOnEarth(stream);
  useEffect(() => {
    if (earth) coast().then(setLand);
  }, [earth]);
  const points = usePoints(stream, dims);
  const people = names.map((name) => personOf(name, colourOf(names, name), list, dims));
  const box = useBox(stream, points, people, dims);
  const ratio = earth || Array.isArray(stream.bounds) ? "same" : "free";
  return html`<div class="map-and-list"><${Canvas} kind=${Plane} theme=${theme} shown=${{ points, people, land: earth ? land : null, box, ratio }}
      label=${`A map with ${count(points.length)} live publications and ${people.length} subscribers`}
      told=${(mark) => titleOf(known.rows.get(mark.id), mark.id)} note=${`${count(points.length)} live`}>
      ${n > 2 && html`<${Axes} n=${n} dims=${dims} />`}<//>
    <${Latest} /></div>`;
}

// Those that are live yet, by the time of the stream; the same array for as long as it would hold the same.
function usePoints(stream, dims) {
  const before = useRef([]);
  const last = known.arrivals.at(-1);
  const axes = String(dims);
  return useMemo(() => {
    const ends = (stream.now ?? 0) - windowLength(stream.window);
    const found = [];
    for (const entry of known.arrivals) {
      if (entry.axes !== axes) [entry.axes, entry.xy] = [axes, placeOf(entry.row, dims)];
      if (entry.xy && !(entry.row.ts <= ends)) found.push(entry);
    }
    const same = found.length === before.current.length && found.at(-1) === before.current.at(-1) && before.axes === axes;
    if (!same) [before.current, before.axes] = [found, axes];
    return before.current;
  }, [last?.id, stream.now, axes]);
}

// Bounds that nobody has named grow with what comes, in whole steps, so that the view does not shake.
function useBox(stream, points, people, dims) {
  const held = useRef({ axes: "", box: null });
  return useMemo(() => {
    const places = [...points.map((point) => point.xy), ...people.map((one) => one.xy).filter(Boolean)];
    const box = boundsOf(stream, places);
    const { axes, box: before } = held.current;
    const fits = before && axes === String(dims) && before[0] <= box[0] && before[1] <= box[1] && before[2] >= box[2] && before[3] >= box[3];
    if (!fits) held.current = { axes: String(dims), box: places.length ? widened(box, stream) : box };
    return held.current.box;
  }, [points, people.length, String(stream.bounds)]);
}

function widened([x0, y0, x1, y1], stream) {
  if (stream.bounds) return [x0, y0, x1, y1];
  const [dx, dy] = [(x1 - x0) * 0.08, (y1 - y0) * 0.08];
  return [x0 - dx, y0 - dy, x1 + dx, y1 + dy];
}

function personOf(name, colour, list, dims) {
  const asked = (list ?? []).find((one) => String(one.id) === name);
  const ties = (known.tops.get(name) ?? []).map((entry, i) => ({ xy: placeOf(known.rows.get(entry.id), dims), rank: i + 1 }));
  return { name, colour, xy: placeOf(asked, dims), ties: ties.filter((tie) => tie.xy) };
}
