// Overlay: the brokers of a network, and the links between them, as wide as what goes over them.

import { html, useMemo, useRef } from "../preact.js";
import { setWords } from "../address.js";
import { layout } from "../network.js";
import { Empty, Panel, Screen, Scroll, Stat } from "../parts.js";
import { known } from "../store.js";
import { bytes, count, rate } from "../words.js";

const REQUEST = { path: "/v1/console/feed", streams: true };
const EXAMPLE = `# in the configuration of the server
brokers:
  a: http://127.0.0.1:9464/metrics
  b: http://127.0.0.1:9465/metrics`;
const EDGE = 44;
// A phone is held upright.
const sizeOf = () => (matchMedia("(max-width: 760px)").matches ? [380, 460] : [760, 460]);

export function Overlay({ query }) {
  const { beside } = known;
  const brokers = beside?.brokers ?? [];
  const rates = useRates(beside);
  const links = linksOf(brokers);
  return html`<${Screen} title="Overlay" about="Brokers and links by traffic." request=${REQUEST}>
    ${!beside ? html`<p class="waiting">Asking what runs beside the server…</p>`
      : !beside.allowed ? html`<${Empty} title="This is shown to admins">A token with the scope admin, of the first tenant and without a prefix, lets you see the brokers.<//>`
      : !brokers.length ? html`<${Empty} title="This server knows of no overlay" code=${EXAMPLE}>An overlay joins brokers to a network that routes publications to those who want them. Each broker tells its metrics at an address: name these, and the network is shown here:<//>`
      : html`<${Network} brokers=${brokers} links=${links} rates=${rates} query=${query} />`}
  <//>`;
}

// Each link once, with what has gone over it both ways, as those who send it count.
function linksOf(brokers) {
  const found = new Map();
  brokers.forEach((broker, i) => {
    for (const link of broker.links) {
      const j = brokers.findIndex((other) => other.name === link.to);
      const key = j >= 0 ? [i, j].sort((a, b) => a - b).join() : null;
      if (!key || i === j) continue;
      const entry = found.get(key) ?? { key, ends: key.split(",").map(Number), bytes: 0, messages: 0, up: true };
      found.set(key, { ...entry, bytes: entry.bytes + link.bytes, messages: entry.messages + link.messages, up: entry.up && link.up });
    }
  });
  return [...found.values()];
}

// How much goes over each link, and through each broker, per second since they were looked at before.
function useRates(beside) {
  const held = useRef({ beside: null, rates: { links: {}, brokers: {} } });
  const before = held.current.beside;
  if (beside && beside !== before) {
    const seconds = before ? beside.at - before.at : 0;
    if (seconds > 0) held.current.rates = { links: grown(sums(linksOf(before.brokers)), sums(linksOf(beside.brokers)), seconds), brokers: grown(totals(before), totals(beside), seconds) };
    held.current.beside = beside;
  }
  return held.current.rates;
}

const sums = (links) => Object.fromEntries(links.map((link) => [link.key, link.bytes]));
const totals = ({ brokers }) => Object.fromEntries(brokers.map((broker) => [broker.name, broker.links.reduce((sum, link) => sum + link.bytes, 0)]));
const grown = (before, now, seconds) => Object.fromEntries(Object.entries(now).map(([key, n]) => [key, Math.max(0, (n - (before[key] ?? n)) / seconds)]));

function Network({ brokers, links, rates, query }) {
  const chosen = brokers.find((broker) => broker.name === query.get("broker"));
  const up = brokers.filter((broker) => broker.up).length;
  const total = Object.values(rates.links).reduce((sum, n) => sum + n, 0);
  return html`<div class="stats"><${Stat} label="Brokers that answer" value=${html`<span class=${up === brokers.length ? "good" : "bad"}>${up}</span>`} unit=${`of ${brokers.length}`} />
      <${Stat} label="Links" value=${count(links.length)} /><${Stat} label="Over all links" value=${bytes(total)} unit="/ s" />
      <${Stat} label="Sent so far" value=${bytes(links.reduce((sum, link) => sum + link.bytes, 0))} /></div>
    <div class="map-and-list"><${Panel} kind="network"><${Picture} brokers=${brokers} links=${links} rates=${rates} chosen=${chosen} /><//>
      <${Panel} title=${chosen ? `Broker ${chosen.name}` : "Brokers"} kind="scroll-y">${chosen ? html`<${Broker} broker=${chosen} />` : html`<${Brokers} brokers=${brokers} rates=${rates} />`}<//></div>
    <${Panel} title="Links" aside="by traffic"><${Scroll}><table><thead><tr><th scope="col">Between</th><th scope="col">State</th><th scope="col" class="number">Now, per second</th><th scope="col" class="number">Sent</th><th scope="col" class="number">Messages</th></tr></thead>
      <tbody>${[...links].sort((a, b) => b.bytes - a.bytes).map((link) => html`<tr key=${link.key}><th scope="row">${link.ends.map((i) => brokers[i].name).join(" – ")}</th><td class=${link.up ? "good" : "bad"}>${link.up ? "up" : "down"}</td>
      <td class="number">${bytes(rates.links[link.key] ?? 0)}</td><td class="number">${bytes(link.bytes)}</td><td class="number">${count(link.messages)}</td></tr>`)}</tbody></table><//><//>`;
}

function Picture({ brokers, links, rates, chosen }) {
  const shape = links.map((link) => link.key).sort().join(" ");
  const places = useMemo(() => layout(brokers.length, links.map((link) => link.ends)), [brokers.length, shape]);
  const [wide, high] = sizeOf();
  const at = (i) => [EDGE + ((places[i][0] + 1) / 2) * (wide - 2 * EDGE), EDGE + ((1 - places[i][1]) / 2) * (high - 2 * EDGE)];
  const most = Math.max(...links.map((link) => rates.links[link.key] ?? 0), 1);
  const busiest = Math.max(...Object.values(rates.brokers), 1);
  const width = (link) => 1.5 + 11 * Math.sqrt((rates.links[link.key] ?? 0) / most);
  const choose = (broker) => (event) => {
    event.preventDefault();
    setWords({ broker: broker === chosen ? null : broker.name });
  };
  return html`<svg viewBox=${`0 0 ${wide} ${high}`} role="group" aria-label=${`${count(brokers.length)} brokers and ${count(links.length)} links`}>
    ${links.map((link) => {
      const [[x0, y0], [x1, y1]] = link.ends.map(at);
      return html`<line key=${link.key} x1=${x0} y1=${y0} x2=${x1} y2=${y1} stroke-width=${width(link)} class=${`link ${link.up ? "" : "down"} ${rates.links[link.key] ? "busy" : ""}`}><title>${bytes(rates.links[link.key] ?? 0)} per second</title></line>`;
    })}
    ${brokers.map((broker, i) => {
      const [x, y] = at(i);
      const size = 13 + 11 * Math.sqrt((rates.brokers[broker.name] ?? 0) / busiest);
      return html`<a key=${broker.name} href=${`#broker-${broker.name}`} class=${`broker ${broker.up ? "" : "down"} ${broker === chosen ? "chosen" : ""}`} onClick=${choose(broker)} aria-label=${`Broker ${broker.name}, ${broker.up ? "answers" : "does not answer"}`}>
        <circle cx=${x} cy=${y} r=${size} /><text x=${x} y=${y + 4.5} text-anchor="middle">${broker.name}</text></a>`;
    })}</svg>`;
}

const Brokers = ({ brokers, rates }) => html`<ul class="plain bars">${[...brokers].sort((a, b) => (rates.brokers[b.name] ?? 0) - (rates.brokers[a.name] ?? 0)).map((broker) => html`<li key=${broker.name}>
  <a href=${`#broker-${broker.name}`} onClick=${(event) => { event.preventDefault(); setWords({ broker: broker.name }); }}>${broker.name}</a>
  <span class=${broker.up ? "number" : "number bad"}>${broker.up ? `${bytes(rates.brokers[broker.name] ?? 0)} / s` : "does not answer"}</span></li>`)}</ul>`;

const Broker = ({ broker }) => html`<p class="mono about">${broker.address}</p>${broker.trouble && html`<p class="bad">${broker.trouble}</p>`}
  <table><tbody>${Object.entries(broker.numbers).map(([name, n]) => html`<tr key=${name}><th scope="row">${name}</th><td class="number">${/seconds|rate/.test(name) ? rate(n) : count(n)}</td></tr>`)}</tbody></table>
  <p><button class="quiet" onClick=${() => setWords({ broker: null })}>All brokers</button></p>`;
