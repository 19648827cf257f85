// Explain: why a publication is in a top, or why not, and by how much it misses.

import { html, useEffect, useState } from "../preact.js";
import { setWords, shownNames } from "../address.js";
import { ask } from "../api.js";
import { fetchRows, isFresh } from "../feed.js";
import { Empty, Failure, Panel, Screen, Stat } from "../parts.js";
import { known } from "../store.js";
import { useSome, useSubscriptions } from "../subscribers.js";
import { clock, count, score, titleOf } from "../words.js";

const AGAIN_MS = 2000;

export function Explain({ query }) {
  const { list } = useSubscriptions(known.stream);
  const names = shownNames(query);
  useSome(known.stream, names, list);
  const subscription = query.get("of") && names.includes(query.get("of")) ? query.get("of") : names[0];
  const top = known.tops.get(subscription) ?? [];
  const publication = query.get("publication") || top[0]?.id;
  const path = `/v1/streams/${encodeURIComponent(known.stream ?? "")}/explain?${new URLSearchParams({ subscription: subscription ?? "", publication: publication ?? "" })}`;
  const { found, problem } = useExplanation(path, subscription && publication);
  return html`<${Screen} title="Explain" about="Why something is in a top, or why not, and by how much it misses." request=${{ path }}>
    <form class="chooser" onSubmit=${(event) => event.preventDefault()}>
      <label>Subscription <select value=${subscription} onChange=${(event) => choose(event.target.value, names)}>
        ${[...new Set([...names, ...(list ?? []).map((one) => String(one.id))])].map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label class="wide">Publication <select value=${publication} onChange=${(event) => setWords({ publication: event.target.value })}>
        <${Choices} top=${top} publication=${publication} /></select></label>
      <label>or its id <input value=${query.get("publication") ?? ""} placeholder="id" onChange=${(event) => setWords({ publication: event.target.value })} /></label>
    </form>
    <${Failure} problem=${problem} />
    ${found ? html`<${Verdict} found=${found} />` : !problem && html`<${Empty} title="Choose a publication">
      Choose a subscription and a publication above, or follow any entry of the <a href="#/tops">tops</a>.<//>`}
  <//>`;
}

function choose(name, names) {
  setWords({ of: name, publication: null, show: [name, ...names.filter((one) => one !== name)].map(encodeURIComponent).join(",") });
}

function Choices({ top, publication }) {
  const inTop = new Set(top.map((entry) => entry.id));
  const latest = known.arrivals.slice(-40).reverse().filter(({ id }) => !inTop.has(id));
  const listed = inTop.has(publication) || latest.some(({ id }) => id === publication);
  const title = (id) => titleOf(known.rows.get(id), id).slice(0, 80);
  return html`${!listed && publication && html`<option value=${publication}>${title(publication)}</option>`}
    <optgroup label="In the top">${top.map((entry, i) => html`<option value=${entry.id}>${i + 1}. ${title(entry.id)}</option>`)}</optgroup>
    <optgroup label="Newest">${latest.map(({ id }) => html`<option value=${id}>${title(id)}</option>`)}</optgroup>`;
}

function useExplanation(path, complete) {
  const [told, setTold] = useState({ found: null, problem: null });
  useEffect(() => {
    let wanted = true;
    if (!complete) return undefined;
    const look = () =>
      ask("GET", path).then(
        (found) => wanted && setTold({ found, problem: null }),
        (problem) => wanted && setTold({ found: null, problem }),
      );
    look();
    fetchRows([complete]);
    const timer = setInterval(() => isFresh() && !document.hidden && look(), AGAIN_MS);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  }, [path, Boolean(complete)]);
  return told;
}

function Verdict({ found }) {
  const [first, ...rest] = found.text.split("\n");
  return html`<div class=${`verdict ${found.in_top ? "in" : "out"}`}><span class="verdict-mark" aria-hidden="true">${found.in_top ? "✓" : "✗"}</span>
      <div><h2>${first}</h2><p class="about">${titleOf(known.rows.get(String(found.publication)), found.publication)}</p>
      ${rest.map((line) => html`<p>${withClock(line, found)}</p>`)}</div></div>
    <div class="stats"><${Stat} label="Rank" value=${found.rank ?? "–"} unit=${found.rank ? `of ${count(found.n_competing)}` : ""} />
      <${Stat} label="Score" value=${score(found.score)} /><${Stat} label=${`Score at place ${found.k}`} value=${score(found.kth_score)} />
      <${Stat} label="Missed by" value=${found.missed_by === null ? "–" : score(found.missed_by)} />
      <${Stat} label="Better and live as long" value=${found.n_ahead ?? "–"} hint="With k or more, time alone does not let it in" /></div>
    ${found.parts.length > 0 && html`<${Parts} parts=${found.parts} total=${found.score} />`}
    <div class="pair">${found.conditions.length > 0 && html`<${Panel} title="Conditions"><ul class="plain">${found.conditions.map(
        (one) => html`<li><span class=${one.met ? "good" : "bad"}>${one.met ? "✓ met" : "✗ not met"}</span> ${one.name}
          ${one.value !== null && html`<span class="about"> ${score(one.value)} ${range(one)}</span>`}</li>`)}</ul><//>`}
      <${Panel} title="What the engine keeps"><p>${found.bound.text}</p><p class="about">${found.bound.name}: ${count(found.bound.n_kept)} kept,
        ${found.bound.place ? `this one at place ${found.bound.place}` : "this one not among them"}; limit ${score(found.bound.limit)}.</p><//></div>`;
}

// Times that are those of a clock, as a clock shows them; other streams count time as they please.
function withClock(line, { ts, expires_at, now }) {
  const times = [ts, expires_at, now].filter((time) => time > 1e15 && time < 4e15);
  return times.reduce((text, time) => text.replaceAll(String(time), clock(time / 1000)), line);
}

const range = ({ low, high }) => (low !== null && high !== null ? `between ${score(low)} and ${score(high)}` : low !== null ? `at least ${score(low)}` : high !== null ? `at most ${score(high)}` : "");

function Parts({ parts, total }) {
  const most = Math.max(...parts.map((part) => Math.abs(part.contribution)), Math.abs(total ?? 0), 1e-12);
  return html`<${Panel} title="What the score is made of"><table class="parts"><thead><tr><th scope="col">Part</th><th scope="col" class="number">Value</th>
    <th scope="col" class="number">Weight</th><th scope="col" class="number">Adds</th><th scope="col"><span class="hidden">Share</span></th></tr></thead>
    <tbody>${parts.map((part) => html`<tr><th scope="row">${part.name}</th><td class="number">${score(part.value)}</td><td class="number">${part.weight === null ? "" : score(part.weight)}</td>
      <td class="number">${score(part.contribution)}</td><td class="share"><i style=${{ width: `${(100 * Math.abs(part.contribution)) / most}%` }}></i></td></tr>`)}</tbody></table><//>`;
}
