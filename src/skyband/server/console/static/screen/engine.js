// Engine: what it counts, what it holds in memory, and how much work its pruning saves.

import { html, useEffect, useRef } from "../preact.js";
import { Chart } from "../chart.js";
import { Empty, Panel, Screen, Scroll, Stat } from "../parts.js";
import { known, theStream } from "../store.js";
import { bytes, count, rate } from "../words.js";

const MEMORY = [{ name: "memory", label: "bytes", colour: "two", fills: true }];

export function Engine({ theme }) {
  const stream = theStream();
  const engine = known.vitals?.engine;
  const rates = useRates(engine);
  if (!engine || !stream)
    return html`<${Screen} title="Engine" about="What the engine of a stream counts and holds."><${Empty} title="There is no stream yet">
      Open one first: the <a href="#/overview">overview</a> says how.<//><//>`;
  const { counters, memory } = engine;
  const total = Object.values(memory).reduce((sum, n) => sum + n, 0);
  const pairs = (rates.publications ?? 0) * stream.subscriptions;
  return html`<${Screen} title="Engine" about=${`What the engine of ${stream.name} counts and holds.`} request=${{ path: `/v1/streams/${encodeURIComponent(stream.name)}` }}>
    <div class="stats"><${Stat} label="Family" value=${stream.family} /><${Stat} label="Engine" value=${stream.engine === "auto" ? engine.taken : stream.engine} hint="As asked for, or as it was chosen" />
      <${Stat} label="Memory" value=${bytes(total)} /><${Stat} label="Per subscription" value=${stream.subscriptions ? bytes(total / stream.subscriptions) : "–"} />
      <${Stat} label="Scored of new pairs" value=${pairs && rates.scored !== undefined ? ((100 * rates.scored) / pairs).toFixed(1) : "–"} unit="%"
        hint="Scores worked out in the last second, of publications times subscriptions: the rest was ruled out without" /></div>
    <div class="pair"><${Panel} title="Counters" aside="since the stream was opened"><${Scroll}><table><thead><tr><th scope="col">Counter</th><th scope="col" class="number">Total</th><th scope="col" class="number">per second</th></tr></thead>
      <tbody>${Object.entries(counters).map(([name, n]) => html`<tr><th scope="row">${name.replaceAll("_", " ")}</th><td class="number">${count(n)}</td><td class="number">${rate(rates[name])}</td></tr>`)}</tbody></table><//><//>
      <${Panel} title="Memory" aside=${bytes(total)}><ul class="plain bars">${Object.entries(memory).sort((a, b) => b[1] - a[1]).map(
        ([name, n]) => html`<li><span>${name.replaceAll("_", " ")}</span><span class="number">${bytes(n)}</span><span class="bar" aria-hidden="true"><i style=${{ width: `${(100 * n) / Math.max(total, 1)}%` }}></i></span></li>`)}</ul>
        <${Chart} title="Memory, the last five minutes" history=${known.history} series=${MEMORY} theme=${theme} height=${130} show=${bytes} /><//></div>
  <//>`;
}

// How fast each counter grows, from one second to the next.
function useRates(engine) {
  const before = useRef(null);
  const rates = useRef({});
  const at = known.vitals?.at;
  useEffect(() => {
    before.current = { at, engine };
  }, [at]);
  const last = before.current;
  if (engine && last?.engine && at > last.at && last.engine.stream === engine.stream)
    rates.current = Object.fromEntries(
      Object.entries(engine.counters).map(([name, n]) => [name, Math.max(0, (n - (last.engine.counters[name] ?? 0)) / (at - last.at))]),
    );
  return rates.current;
}
