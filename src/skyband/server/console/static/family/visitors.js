// Events that are answered with the best subscriptions: adverts for a visitor, why each fits, and budgets that run down.

import { html, useRef, useState } from "../preact.js";
import { Empty, Panel } from "../parts.js";
import { known } from "../store.js";
import { colourOf } from "../subscribers.js";
import { count, plain, score, titleOf } from "../words.js";

// A visitor is looked at for so long before the next is shown, unless somebody turns to another.
const HOLD_MS = 2500;
const MOST_ADVERTS = 40;

export function Visitors({ stream, names, list }) {
  const visitor = useVisitor(stream);
  const byId = new Map((list ?? []).map((one) => [String(one.id), one]));
  if (list && !list.length) return html`<${Empty} title="Nobody has subscribed yet">Write a subscription in the
    <a href=${`#/editor?stream=${known.stream}`}>editor</a>: intervals with weights, and a budget if it is to end.<//>`;
  return html`<div class="pair visitors"><${Visitor} ...${visitor} byId=${byId} names=${names} />
    <${Budgets} list=${list} names=${names} shown=${visitor.answers} /></div>`;
}

// The visitor that is looked at: the latest, held for a while so that it can be read, or one that somebody turned to.
function useVisitor() {
  const [turned, setTurned] = useState(null);
  const held = useRef({ number: 0, at: -Infinity });
  const seen = known.arrivals.filter((one) => one.at || known.answers.has(one.id)).slice(-100);
  const latest = seen.at(-1);
  const now = performance.now();
  if (latest && now - held.current.at > HOLD_MS) held.current = { number: latest.number, at: now };
  const number = turned ?? held.current.number;
  const place = Math.max(0, seen.findIndex((one) => one.number === number));
  const entry = seen[place];
  const turn = (step) => setTurned(seen[Math.min(Math.max(place + step, 0), seen.length - 1)]?.number ?? null);
  return { entry, answers: entry ? (known.answers.get(entry.id) ?? []) : [], place, n: seen.length, turn, turned: turned !== null, goOn: () => setTurned(null) };
}

function Visitor({ entry, answers, place, n, turn, turned, goOn, byId, names }) {
  if (!entry)
    return html`<${Panel} title="Visitor"><p class="waiting">Nobody has come since this page was opened. Publish an event, and whom it is answered with is seen here at once.</p><//>`;
  const most = Math.max(...answers.map((row) => Math.abs(row.score)), 1e-12);
  const tools = html`<span class="tools"><button aria-label="The visitor before" disabled=${place === 0} onClick=${() => turn(-1)}>‹</button>
    <button aria-label="The visitor after" disabled=${place >= n - 1} onClick=${() => turn(1)}>›</button>
    <button data-key="p" aria-pressed=${turned ? "true" : "false"} class=${turned ? "strong" : ""} onClick=${turned ? goOn : () => turn(0)}>${turned ? "Go on" : "Hold"}</button></span>`;
  return html`<${Panel} title=${titleOf(entry.row, entry.id)} aside=${tools} kind="top who-3 visitor">
    <ul class="chips facts" aria-label="The event">${coordinates(entry.row).map(([name, text]) => html`<li class="chip plain-chip"><span class="aside">${name}</span> ${text}</li>`)}</ul>
    ${!answers.length && html`<p class="waiting">No subscription was left that fits: none of its intervals is met, or its budget is spent.</p>`}
    <ol>${answers.map((row) => html`<${Advert} key=${row.subscription} row=${row} most=${most} asked=${byId.get(String(row.subscription))} visitor=${entry.row}
      mine=${names.includes(String(row.subscription))} />`)}</ol><//>`;
}

function Advert({ row, most, asked, visitor, mine }) {
  const name = String(row.subscription);
  const why = `#/explain?${new URLSearchParams({ stream: known.stream, show: encodeURIComponent(name), publication: row.event })}`;
  return html`<li class=${mine ? "entry advert new" : "entry advert"} data-id=${name}><span class="rank">${row.rank}</span><a class="what" href=${why} title="Why does it fit?">${name}</a>
    <span class="score">${score(row.score)}</span><span class="bar" aria-hidden="true"><i style=${{ width: `${(100 * Math.abs(row.score)) / most}%` }}></i></span>
    ${asked && html`<span class="fits">${partsOf(asked).map((part) => html`<${Fit} part=${part} visitor=${visitor} />`)}</span>`}</li>`;
}

// An interval on its axis, and where the visitor stabs it.
function Fit({ part, visitor }) {
  const at = visitor.point?.[part.dim];
  const met = typeof at === "number" && part.lo <= (visitor.upper?.[part.dim] ?? at) && at <= part.hi;
  const [low, high] = axisOf(part.dim);
  const px = (x) => `${Math.max(0, Math.min(100, (100 * (x - low)) / Math.max(high - low, 1e-12)))}%`;
  const [x0, x1] = [Number.isFinite(part.lo) ? part.lo : low, Number.isFinite(part.hi) ? part.hi : high];
  const text = `dimension ${part.dim + 1}: from ${bound(part.lo)} to ${bound(part.hi)}, weight ${plain(part.weight)}, ${met ? "met" : "not met"}`;
  return html`<span class=${met ? "fit met" : "fit"} title=${text} role="img" aria-label=${text}><i class="span" style=${{ left: px(x0), right: `calc(100% - ${px(x1)})` }}></i>
    ${typeof at === "number" && html`<i class="stab" style=${{ left: px(at) }}></i>`}</span>`;
}

const bound = (x) => (Number.isFinite(x) ? plain(x) : "any");

// What has been seen on an axis so far.
function axisOf(dim) {
  let [low, high] = [Infinity, -Infinity];
  for (const { row } of known.arrivals.slice(-300)) {
    const x = row.point?.[dim];
    if (typeof x === "number") [low, high] = [Math.min(low, x), Math.max(high, x)];
  }
  return low < high ? [low, high] : [low - 1, low + 1];
}

export function partsOf({ lo, hi, weights, dims }) {
  return (lo ?? []).map((low, i) => ({ dim: dims?.[i] ?? i, lo: Number(low ?? -Infinity), hi: Number(hi?.[i] ?? Infinity), weight: weights?.[i] ?? 1 }))
    .filter((part) => part.weight > 0);
}

function coordinates(row) {
  return (row.point ?? []).map((x, i) => [`dimension ${i + 1}`, x === null ? "unknown" : row.upper?.[i] != null && row.upper[i] !== x ? `${plain(x)} to ${plain(row.upper[i])}` : plain(x)]);
}

// Those that have a budget, the emptiest first; what is left of each comes with the vitals.
function Budgets({ list, names, shown }) {
  const left = known.vitals?.engine?.budgets ?? {};
  const answered = new Set(shown.map((row) => String(row.subscription)));
  const limited = (list ?? []).filter((one) => typeof one.budget === "number").map((one) => ({ name: String(one.id), budget: one.budget, left: left[String(one.id)] ?? one.budget }));
  limited.sort((a, b) => Number(names.includes(b.name)) - Number(names.includes(a.name)) || a.left / Math.max(a.budget, 1) - b.left / Math.max(b.budget, 1) || (a.name < b.name ? -1 : 1));
  const n = limited.filter((one) => !one.left).length;
  return html`<${Panel} title="Budgets" aside=${limited.length ? `${count(n)} of ${count(limited.length)} spent` : ""}>
    ${list && !limited.length && html`<p class="waiting">No subscription of this stream has a budget: each is answered with as often as it fits. Register one with a number under <code>budget</code> to see it run down.</p>`}
    <ul class="plain bars budgets">${limited.slice(0, MOST_ADVERTS).map((one) => html`<${Budget} key=${one.name} one=${one} colour=${names.includes(one.name) ? colourOf(names, one.name) : ""} lit=${answered.has(one.name)} />`)}</ul>
    ${limited.length > MOST_ADVERTS && html`<p class="about">The ${MOST_ADVERTS} that have the least left of theirs are shown.</p>`}<//>`;
}

function Budget({ one, colour, lit }) {
  const share = one.budget ? one.left / one.budget : 0;
  return html`<li class=${`${colour} ${lit ? "lit" : ""} ${one.left ? "" : "spent"}`}><span>${colour && html`<i class="dot"></i>`}${one.name}</span>
    <span class="number">${one.left ? `${count(one.left)} of ${count(one.budget)} left` : "spent"}</span>
    <span class="bar" aria-hidden="true"><i class=${share < 0.2 ? "low" : ""} style=${{ width: `${100 * share}%` }}></i></span></li>`;
}
