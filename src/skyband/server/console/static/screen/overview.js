// Overview: rates, connections, memory and health, and all streams.

import { html } from "../preact.js";
import { Chart } from "../chart.js";
import { Empty, Panel, Screen, Scroll, Stat } from "../parts.js";
import { known, theStream } from "../store.js";
import { bytes, count, dateTime, duration, rate } from "../words.js";

const RATES = [
  { name: "published", label: "publications per second", colour: "one", fills: true },
  { name: "changed", label: "changes per second", colour: "two" },
];

const FIRST = `skyband serve --demo

curl -X POST ${location.origin}/v1/streams \\
  -H 'Content-Type: application/json' \\
  -d '{"name": "news", "family": "geotext", "window": "10m"}'`;

export function Overview({ theme }) {
  const { vitals, history } = known;
  const last = history.at(-1);
  return html`<${Screen} title="Overview" about="What arrives, what changes, and how the server is."
      request=${{ path: "/v1/streams" }}>
    ${vitals && !vitals.streams.length
      ? html`<${Empty} title="There is no stream yet" code=${FIRST}>
          A stream takes publications and keeps the tops of its subscriptions. Start the server with the city of the
          demo, or open a stream of your own:<//>`
      : html`<div class="stats">
          <${Stat} label="Publications" value=${rate(last?.published)} unit="/ s" />
          <${Stat} label="Changes" value=${rate(last?.changed)} unit="/ s" hint="Enters, leaves and moves of the stream that is chosen" />
          <${Stat} label="Subscriptions" value=${count(vitals?.streams.reduce((n, stream) => n + stream.subscriptions, 0))} />
          <${Stat} label="Open connections" value=${count(vitals?.connections)} />
          <${Stat} label="Waiting verbs" value=${count(vitals?.waiting)} hint="What was sent and is not done yet" />
          <${Stat} label="Engine memory" value=${last ? bytes(last.memory) : "–"} />
          <${Stat} label="Running for" value=${vitals ? duration(vitals.up) : "–"} hint=${`Version ${vitals?.version}`} />
          <${Health} />
        </div>
        <${Panel}><${Chart} title="The last five minutes" history=${history} series=${RATES} theme=${theme} height=${210} /><//>
        <${Streams} />`}
  <//>`;
}

function Health() {
  const damaged = known.vitals?.streams.filter((stream) => stream.damaged) ?? [];
  const word = damaged.length ? "Damaged" : known.vitals?.stopping ? "Stopping" : known.vitals ? "Good" : "–";
  return html`<${Stat} label="Health" value=${html`<span class=${damaged.length ? "bad" : "good"}>${word}</span>`}
    hint=${damaged.map((stream) => `${stream.name}: ${stream.damaged}`).join(" ")} />`;
}

function Streams() {
  const chosen = theStream()?.name;
  return html`<${Panel} title="Streams"><${Scroll}><table><thead><tr><th scope="col">Name</th><th scope="col">Family</th>
    <th scope="col">Window</th><th scope="col" class="number">Subscriptions</th><th scope="col" class="number">Published</th>
    <th scope="col">Time of the stream</th></tr></thead>
    <tbody>${(known.vitals?.streams ?? []).map((stream) => html`<tr class=${stream.name === chosen ? "chosen" : ""}>
      <th scope="row"><a href=${`#/tops?stream=${encodeURIComponent(stream.name)}`}>${stream.name}</a></th>
      <td>${stream.family}</td><td>${windowText(stream.window)}</td><td class="number">${count(stream.subscriptions)}</td>
      <td class="number" title="Since the server was started">${count(stream.published)}</td><td>${dateTime(stream.now)}</td></tr>`)}</tbody></table><//><//>`;
}

const windowText = (window) => (window === null ? "none" : typeof window === "object" ? `the last ${count(window.count)}` : window);
