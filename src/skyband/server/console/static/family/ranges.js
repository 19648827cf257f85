// Objects that move, and intervals: the space of objects beside that of intervals, where an object's region is a staircase.

import { html, useMemo } from "../preact.js";
import { setWords } from "../address.js";
import { Axes, dimensionsIn } from "../axes.js";
import { Canvas } from "../canvas/canvas.js";
import { Stairs } from "../canvas/stairs.js";
import { Strips } from "../canvas/strips.js";
import { rankFor, tilesOf } from "../staircase.js";
import { known } from "../store.js";
import { colourOf } from "../subscribers.js";
import { count, plain } from "../words.js";

export function Ranges({ stream, names, list, query, theme }) {
  const n = dimensionsOf(list, known.arrivals.at(-1)?.row);
  const [dim] = dimensionsIn(query, n);
  const objects = useObjects(dim);
  const people = names.map((name, place) => personOf(name, place, colourOf(names, name), list, objects, dim));
  const chosen = choose(query, objects, people);
  const box = useBox(objects, list, dim);
  const k = people[0]?.k ?? list?.[0]?.k ?? 1;
  const strips = { objects, people, object: chosen && { id: chosen.id, xy: chosen.xy }, box, ratio: "free" };
  return html`<div class="object-choice chooser"><${ObjectChoice} query=${query} objects=${objects} chosen=${chosen} />
      ${chosen && html`<span class="aside">${chosen.id} lies at ${plain(chosen.x)}, with a value of ${plain(chosen.y)}</span>`}</div>
    <div class="pair maps"><figure><figcaption><h2>Objects</h2><span class="aside">place across, value up</span></figcaption>
      <${Canvas} kind=${Strips} theme=${theme} shown=${strips} told=${(mark) => `${mark.id}: x ${plain(mark.x)}, y ${plain(mark.y)}`}
        pick=${(mark) => setWords({ object: mark.id })} note=${`${count(objects.length)} objects`}
        label=${`${count(objects.length)} objects by place and value, with the strips of ${people.length} subscribers`}>
        ${n > 1 && html`<${Axes} n=${n} dims=${[dim]} labels=${["Across"]} />`}<//></figure>
    ${n > 1 ? html`<p class="waiting">The subscriptions of this stream are boxes in ${n} dimensions. The staircase is drawn for intervals, which have one.</p>`
      : html`<${Intervals} k=${k} objects=${objects} people=${people} chosen=${chosen} list=${list} box=${box} theme=${theme} names=${names} />`}</div>`;
}

function Intervals({ k, objects, people, chosen, list, box, theme, names }) {
  const subscribers = useMemo(() => (list ?? []).map((one) => ({ id: String(one.id), xy: spanOf(one, 0), k: one.k })), [list]);
  const held = useMemo(() => within(subscribers, box), [subscribers, String(box)]);
  const shown = { subscribers: held, objects, object: chosen, k, people: people.map((one) => ({ ...one, xy: one.span && clamp(one.span, box) })),
    box: [box[0], box[0], box[2], box[2]], ratio: "same" };
  const tiles = chosen ? tilesOf(chosen, objects, k) : [];
  const same = subscribers.filter((one) => one.k === k);
  const n = same.filter((one) => rankFor(tiles, ...one.xy) !== null).length;
  const note = chosen && `${chosen.id} is among the lowest ${k} of ${count(n)} of ${count(same.length)} intervals`;
  return html`<figure><figcaption><h2>Intervals</h2><span class="aside">from across, to up</span></figcaption>
    <${Canvas} kind=${Stairs} theme=${theme} shown=${shown} note=${note} label=${`${count(subscribers.length)} intervals. ${note ?? ""}`}
      told=${(mark) => `${mark.id}: ${plain(mark.ends[0])} to ${plain(mark.ends[1])}, the lowest ${mark.k}`}
      pick=${(mark) => names.includes(mark.id) || setWords({ show: [...names, mark.id].map(encodeURIComponent).join(",") })} /></figure>`;
}

function ObjectChoice({ query, objects, chosen }) {
  const of = query.get("object");
  return html`<label>Whom does it concern? <select value=${of ?? ""} onChange=${(event) => setWords({ object: event.target.value || null })}>
    <option value="">the object that changed last</option><option value="first">the best of the first subscriber</option>
    ${objects.map(({ id }) => id).sort().map((id) => html`<option value=${id}>${id}</option>`)}
    ${of && of !== "first" && !chosen && html`<option value=${of}>${of}</option>`}</select></label>`;
}

function choose(query, objects, people) {
  const of = query.get("object");
  const id = of === "first" ? people[0]?.ties[0]?.id : of;
  if (of) return objects.find((one) => one.id === id) ?? null;
  return objects.reduce((last, one) => (last === null || one.turn > last.turn ? one : last), null);
}

// Each object as it was told last; the array changes only when one of them has.
function useObjects(dim) {
  return useMemo(() => {
    const found = [];
    for (const [id, { row, at, from, turn }] of known.objects) {
      const xy = row.y === null || row.y === undefined ? null : [numberAt(row.x, dim), row.y];
      if (xy && typeof xy[0] === "number") found.push({ id, x: xy[0], y: xy[1], xy, at, turn, from: from && [numberAt(from.x, dim), from.y] });
    }
    return found;
  }, [known.turn, dim]);
}

const numberAt = (x, dim) => (Array.isArray(x) ? x[dim] : x);

function dimensionsOf(list, row) {
  const some = list?.[0]?.lo ?? row?.x;
  return Array.isArray(some) ? some.length : 1;
}

export function spanOf(asked, dim) {
  if (!asked) return null;
  // What has no end is written as a text, or left out.
  return [Number(numberAt(asked.lo, dim) ?? -Infinity), Number(numberAt(asked.hi, dim) ?? Infinity)];
}

function personOf(name, place, colour, list, objects, dim) {
  const asked = (list ?? []).find((one) => String(one.id) === name);
  const byId = new Map(objects.map((one) => [one.id, one]));
  const top = known.tops.get(name) ?? [];
  const ties = top.map((entry, i) => ({ id: entry.id, xy: byId.get(entry.id)?.xy, rank: i + 1 })).filter((tie) => tie.xy);
  const lid = asked && top.length >= asked.k ? top.at(-1).score : null;
  return { name, place, colour, k: asked?.k, span: spanOf(asked, dim), lid, ties };
}

// What there is of objects and ends of intervals, with some room around.
function useBox(objects, list, dim) {
  const xs = useMemo(() => (list ?? []).flatMap((one) => spanOf(one, dim)).filter(Number.isFinite), [list, dim]);
  const low = (values, start) => values.reduce((a, b) => Math.min(a, b), start);
  const high = (values, start) => values.reduce((a, b) => Math.max(a, b), start);
  const [first] = objects;
  if (!first && !xs.length) return [0, 0, 1, 1];
  const places = [...xs, ...objects.map((one) => one.x)];
  const [x0, x1, y1] = [low(places, Infinity), high(places, -Infinity), high(objects.map((one) => one.y), 0)];
  const y0 = low(objects.map((one) => one.y), 0);
  // In whole steps, so that the view stands still while values move a little.
  const step = 10 ** Math.floor(Math.log10(Math.max(y1 - y0, 1e-9)));
  return [x0, Math.floor(y0 / step) * step, x1, Math.ceil(y1 / step) * step || 1];
}

const clamp = ([l, r], [x0, , x1]) => [Math.max(l, x0), Math.min(r, x1)];
const within = (subscribers, box) => subscribers.map((one) => ({ ...one, ends: one.xy, xy: clamp(one.xy, box) }));
