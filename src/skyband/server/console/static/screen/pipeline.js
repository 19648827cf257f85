// Pipeline: where pipelines on Spark stand, by their state folders: lag, zones, and rows that were good for nothing.

import { html } from "../preact.js";
import { setWords } from "../address.js";
import { Chart } from "../chart.js";
import { Empty, Failure, Panel, Screen, Scroll, Stat } from "../parts.js";
import { known } from "../store.js";
import { bytes, count, dateTime, duration, rate } from "../words.js";

const REQUEST = { path: "/v1/console/feed", streams: true };
const SERIES = [{ name: "seconds", label: "seconds", colour: "one", fills: true }];
const ROWS = [
  { name: "publications", label: "publications", colour: "two", fills: true },
  { name: "changes", label: "changes", colour: "one" },
];
const EXAMPLE = `# in the configuration of the server
pipelines:
  alerts: alerts.yaml   # the configuration of a pipeline, or its state folder`;

export function Pipeline({ query, theme }) {
  const { beside } = known;
  const pipelines = beside?.pipelines ?? [];
  const chosen = pipelines.find((one) => one.name === query.get("pipeline")) ?? pipelines[0];
  const tools = pipelines.length > 1 && html`<label class="choice">Pipeline <select value=${chosen.name} onChange=${(event) => setWords({ pipeline: event.target.value })}>
    ${pipelines.map((one) => html`<option>${one.name}</option>`)}</select></label>`;
  return html`<${Screen} title="Pipeline" about="State, lag, zones and dead letters of a pipeline on Spark." request=${REQUEST} tools=${tools}>
    ${!beside ? html`<p class="waiting">Asking what runs beside the server…</p>`
      : !beside.allowed ? html`<${Empty} title="This is shown to admins">Pipelines are read from folders of the server. A token with the scope admin, of the first tenant and without a prefix, lets you see them.<//>`
      : !pipelines.length ? html`<${Empty} title="This server knows of no pipeline" code=${EXAMPLE}>A pipeline has its own state folder, and tells of itself from there. Name it in the configuration, and it is shown here while it runs:<//>`
      : !chosen.status ? html`<${Failure} problem=${{ message: `${chosen.name} cannot be shown: ${chosen.trouble}` }} />`
      : html`<${Standing} status=${chosen.status} batches=${chosen.batches} theme=${theme} />`}
  <//>`;
}

function Standing({ status, batches, theme }) {
  const { last, dead, waiting } = status;
  if (!last)
    return html`<${Empty} title="No batch is committed yet" code="skyband pipeline run pipeline.yaml">The pipeline has a state folder, and has not done anything. Run it:<//>`;
  const waits = Object.entries(waiting).filter(([, n]) => n !== null);
  return html`<div class="stats"><${Stat} label="Last batch" value=${count(last.batch)} hint=${dateTime(last.at * 1e6)} />
      <${Stat} label="Committed" value=${duration(status.seconds_since)} unit="ago" hint="It grows while nothing arrives, and while nothing runs" />
      <${Stat} label="Waiting rows" value=${waits.length ? count(waits.reduce((sum, [, n]) => sum + n, 0)) : "–"} hint=${waits.length ? waits.map(([noun, n]) => `${count(n)} ${noun}`).join(", ") : "Counted for embedded logs, where the configuration of the pipeline is named"} />
      <${Stat} label="Delivered" value=${html`<span class=${status.undelivered === null ? "good" : "bad"}>${status.undelivered === null ? "All" : `Not ${count(status.undelivered)}`}</span>`} hint="Whether all sinks have the last batch" />
      <${Stat} label="Subscriptions" value=${count(last.subscriptions)} /><${Stat} label="Time of the stream" value=${html`<span class="date">${last.now === null ? "–" : dateTime(last.now)}</span>`} />
      <${Stat} label="Zones a publication" value=${last.replication === null ? "–" : last.replication.toFixed(2)} hint="To how many zones a publication is sent: 1 is the best" />
      <${Stat} label="Dead letters" value=${html`<span class=${dead.rows ? "bad" : "good"}>${count(dead.rows)}</span>`} /></div>
    <div class="pair"><${Panel}><${Chart} title="Seconds of a batch" history=${batches} series=${SERIES} theme=${theme} show=${rate} /><//>
      <${Panel}><${Chart} title="Rows of a batch" history=${batches} series=${ROWS} theme=${theme} show=${count} /><//></div>
    <${Zones} status=${status} />
    <${Letters} dead=${dead} />`;
}

function Zones({ status }) {
  const slowest = Math.max(...status.parts.map((part) => part.seconds), 1e-9);
  return html`<${Panel} title="Router and zones" aside=${`${status.family}, engine ${status.engine}, ${count(status.zones)} zones; log of ${bytes(status.log_bytes)}`}><${Scroll}><table><thead><tr><th scope="col">Part</th>
    <th scope="col" class="number">Subscriptions</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Seconds</th><th scope="col"><span class="hidden">Share</span></th><th scope="col" class="number">Snapshot</th>
    <th scope="col" class="number">Batches since</th><th scope="col" class="number">Log since</th></tr></thead><tbody>${status.parts.map((part) => html`<tr><th scope="row">${part.part}</th>
    <td class="number">${count(part.subscriptions)}</td><td class="number">${count(part.rows)}</td><td class="number">${part.seconds.toFixed(3)}</td><td class="share wide"><i style=${{ width: `${(100 * part.seconds) / slowest}%` }}></i></td>
    <td class="number">${part.snapshot === null ? "–" : count(part.snapshot)}</td><td class="number">${count(part.batches_since)}</td><td class="number">${bytes(part.log_bytes)}</td></tr>`)}</tbody></table><//><//>`;
}

const Letters = ({ dead }) => html`<${Panel} title="Dead letters" aside=${dead.rows > dead.last.length ? `the last ${dead.last.length} of ${count(dead.rows)}` : ""}>
  ${dead.last.length ? html`<${Scroll}><table><thead><tr><th scope="col">Reason</th><th scope="col">From</th><th scope="col" class="number">Row</th><th scope="col" class="number">Batch</th></tr></thead>
    <tbody>${[...dead.last].reverse().map((one) => html`<tr key=${`${one.batch} ${one.origin} ${one.offset}`}><td class="bad">${one.reason}</td><td class="mono">${one.noun} ${one.origin}</td><td class="number">${count(one.offset)}</td><td class="number">${count(one.batch)}</td></tr>`)}</tbody></table><//>`
    : html`<p class="waiting">Every row that was read could be used.</p>`}<//>`;
