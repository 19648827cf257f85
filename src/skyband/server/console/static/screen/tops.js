// Tops: several subscriptions side by side, whose entries are seen to enter, move and leave.

import { html, useLayoutEffect, useRef } from "../preact.js";
import { shownNames } from "../address.js";
import { Empty, Screen, Scroll } from "../parts.js";
import { known, theStream, touch } from "../store.js";
import { Chooser, colourOf, useSome, useSubscriptions } from "../subscribers.js";
import { wantsCalm } from "../theme.js";
import { asksFor, clock, count, score, titleOf } from "../words.js";

const NEW_MS = 2500;
const GHOST_MS = 20000;
const MOST_STORY = 50;

export function Tops({ query }) {
  const stream = theStream();
  const names = shownNames(query);
  const { list, more } = useSubscriptions(known.stream);
  useSome(known.stream, names, list, stream?.stands ? 3 : 0);
  if (known.vitals && !stream) return html`<${NoStream} />`;
  const path = `/v1/streams/${encodeURIComponent(known.stream)}/events?${new URLSearchParams(names.map((name) => ["subscription", name]))}`;
  return html`<${Screen} title="Tops" about="The best of what is live, for each subscription, as it changes."
      request=${{ path, streams: true }} tools=${html`<${Pause} />`}>
    <${Chooser} stream=${known.stream} names=${names} list=${list} more=${more} />
    ${stream && !stream.stands ? html`<${Answers} names=${names} />` : html`<div class="tops">${names.map(
        (name) => html`<${Card} key=${name} name=${name} colour=${colourOf(names, name)}
          asked=${(list ?? []).find((one) => String(one.id) === name)} />`)}</div><${History} names=${names} />`}
    ${!list && !names.length && html`<p class="waiting">Asking who has subscribed…</p>`}
    ${list && !list.length && html`<${Empty} title="Nobody has subscribed yet"
        code=${`curl -X POST ${location.origin}/v1/streams/${known.stream}/subscriptions -d '[…]'`}>
        Write a subscription in the <a href=${`#/editor?stream=${known.stream}`}>editor</a>, which shows its top before it is registered, or send one:<//>`}
  <//>`;
}

const NoStream = () => html`<${Screen} title="Tops" about="The best of what is live, for each subscription.">
  <${Empty} title="There is no stream yet">Open one first: the <a href="#/overview">overview</a> says how.<//><//>`;

function Pause() {
  const { paused } = known;
  const press = () => {
    known.paused = paused ? null : { tops: new Map(known.tops), left: new Map(known.left), story: [...known.story], answers: new Map(known.answers), at: Date.now(), changes: known.changes };
    touch();
  };
  const missed = paused ? known.changes - paused.changes : 0;
  return html`<button data-key="p" class=${paused ? "strong" : ""} aria-pressed=${paused ? "true" : "false"} onClick=${press} title="p">
    ${paused ? `Paused at ${clock(paused.at)} · ${count(missed)} changes since · Go on` : "Pause"}</button>`;
}

function Card({ name, colour, asked }) {
  const from = known.paused ?? known;
  const top = from.tops.get(name);
  const now = performance.now();
  const gone = (from.left.get(name) ?? []).filter((entry) => now - entry.at < GHOST_MS);
  const list = useMoves(top);
  const most = Math.max(...(top ?? []).map((entry) => Math.abs(entry.score)), 1e-12);
  return html`<article class=${`panel top ${colour}`} aria-labelledby=${`top-${name}`}>
    <header><h2 id=${`top-${name}`}><i class="dot"></i>${name}</h2>
      <span class="aside">${top ? `${top.length} of ${asked?.k ?? "?"}` : ""}</span><p class="about">${asksFor(asked)}</p></header>
    ${!top ? html`<p class="waiting">Waiting for the top…</p>` : !top.length ? html`<p class="waiting">Nothing that is live matches.</p>` : null}
    <ol ref=${list}>${(top ?? []).map((entry, i) => html`<${Entry} key=${entry.id} entry=${entry} rank=${i + 1} most=${most} name=${name}
      isNew=${entry.since && now - entry.since < NEW_MS} />`)}</ol>
    <ul class="gone" aria-label="Left lately">${gone.map((entry) => html`<li key=${entry.id}><span class="rank" aria-hidden="true">−</span>
      <span class="what">${titleOf(known.rows.get(entry.id), entry.id)}</span></li>`)}</ul>
  </article>`;
}

function Entry({ entry, rank, most, name, isNew }) {
  const row = known.rows.get(entry.id);
  const why = `#/explain?${new URLSearchParams({ stream: known.stream, show: encodeURIComponent(name), publication: entry.id })}`;
  const share = Math.max(0, Math.min(1, Math.abs(entry.score) / most));
  return html`<li class=${isNew ? "entry new" : "entry"} data-id=${entry.id}><span class="rank">${rank}</span>
    <a class="what" href=${why} title="Why is this in the top?">${titleOf(row, entry.id)}</a>
    <span class="score">${score(entry.score)}</span><span class="bar" aria-hidden="true"><i style=${{ width: `${share * 100}%` }}></i></span></li>`;
}

// Entries slide from where they were; new ones come in from the side.
function useMoves(top) {
  const list = useRef(null);
  const were = useRef(new Map());
  useLayoutEffect(() => {
    const places = new Map();
    const calm = wantsCalm() || document.hidden;
    for (const item of list.current.children) {
      const at = item.offsetTop;
      const before = were.current.get(item.dataset.id);
      places.set(item.dataset.id, at);
      if (calm || !were.current.size) continue;
      const from = before === undefined ? { opacity: 0, transform: "translateX(24px)" } : { transform: `translateY(${before - at}px)` };
      if (before !== at) item.animate([from, { opacity: 1, transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.8,.2,1)" });
    }
    were.current = places;
  }, [top]);
  return list;
}

// What has entered, left or moved, the latest first.
function History({ names }) {
  const story = (known.paused?.story ?? known.story).slice(-MOST_STORY).reverse();
  if (!story.length) return null;
  return html`<details class="panel history"><summary><h2>History</h2> <span class="aside">the last ${story.length} changes of these tops</span></summary><${Scroll}><table><thead><tr><th scope="col">When</th><th scope="col">Whose</th><th scope="col">What</th>
    <th scope="col">Publication</th><th scope="col" class="number">Rank</th><th scope="col" class="number">Score</th></tr></thead><tbody>${story.map((row) => html`<tr key=${row.number}><td>${clock(row.at)}</td>
    <td><span class=${colourOf(names, row.name)}><i class="dot"></i>${row.name}</span></td><td>${OPS[row.op]}</td><td>${titleOf(known.rows.get(row.id), row.id)}</td>
    <td class="number">${row.rank ?? ""}</td><td class="number">${score(row.score)}</td></tr>`)}</tbody></table><//></details>`;
}

const OPS = { enter: "entered", leave: "left", move: "moved" };

// Families whose answers do not stand: what was answered lately.
function Answers({ names }) {
  const answers = known.paused?.answers ?? known.answers;
  const wanted = (row) => !names.length || names.includes(String(row.subscription));
  const rows = [...answers.values()].reverse().flat().filter(wanted).slice(0, MOST_STORY);
  if (!rows.length) return html`<p class="waiting">Nothing has been answered since this page was opened. Subscriptions of this family have no tops: each publication is answered with the best of them.</p>`;
  return html`<div class="panel"><${Scroll}><table><thead><tr><th scope="col">Publication</th><th scope="col">Subscription</th>
    <th scope="col" class="number">Rank</th><th scope="col" class="number">Score</th></tr></thead><tbody>${rows.map((row) => html`<tr key=${`${row.event} ${row.subscription}`}>
    <td>${titleOf(known.rows.get(String(row.event)), row.event)}</td><td>${String(row.subscription)}</td><td class="number">${row.rank ?? ""}</td><td class="number">${score(row.score)}</td></tr>`)}</tbody></table><//></div>`;
}
