// Editor: a subscription as a form and as JSON, with the top that it would have now.

import { html, useEffect, useState } from "../preact.js";
import { setShown, shownNames, writeAddress } from "../address.js";
import { ask, streamPath } from "../api.js";
import { fetchRows, isFresh } from "../feed.js";
import { Fields, firstOf } from "../fields.js";
import { Empty, Failure, Panel, Screen } from "../parts.js";
import { known, theStream } from "../store.js";
import { useSubscriptions } from "../subscribers.js";
import { score, titleOf } from "../words.js";

const SETTLE_MS = 250;
const AGAIN_MS = 3000;

export function Editor({ query }) {
  const stream = theStream();
  const { list } = useSubscriptions(known.stream);
  const [row, setRow] = useState(null);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState(null);
  const [done, setDone] = useState("");
  const [taken, setTaken] = useState("");
  useEffect(() => {
    if (stream && list && !row) put(firstOf(stream, list));
  }, [stream?.name, list]);
  const put = (next) => {
    setRow(next);
    setText(JSON.stringify(next, null, 2));
    setProblem(null);
    setDone("");
  };
  const typed = (event) => {
    setText(event.target.value);
    try {
      setRow(JSON.parse(event.target.value));
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  if (known.vitals && !stream) return html`<${Screen} title="Editor" about="A subscription, and the top it would have."><${Empty}
    title="There is no stream yet">Open one first: the <a href="#/overview">overview</a> says how.<//><//>`;
  const take = (event) => {
    const found = (list ?? []).find((one) => String(one.id) === event.target.value);
    setTaken(event.target.value);
    const { expires_at, ...its } = found ?? firstOf(stream, list);
    put(its);
  };
  const register = async () => {
    try {
      const { created } = await ask("PUT", streamPath(known.stream, "subscriptions", row.id), [row]);
      setProblem(null);
      setDone(created === false ? "It is as it was, or was replaced." : "It is registered.");
    } catch (error) {
      setProblem(error);
    }
  };
  const remove = async () => {
    try {
      await ask("DELETE", streamPath(known.stream, "subscriptions", row.id));
      setDone("It was withdrawn.");
      setShown(shownNames(query).filter((name) => name !== String(row.id)));
    } catch (error) {
      setProblem(error);
    }
  };
  const show = () => writeAddress("tops", new URLSearchParams({ stream: known.stream, show: encodeURIComponent(row.id) }));
  const request = row && { method: "PUT", path: streamPath(known.stream, "subscriptions", row.id), body: [row] };
  return html`<${Screen} title="Editor" about="A subscription, and the top it would have now. Nothing is registered until you say so." request=${request}>
    ${row && html`<div class="pair editor"><${Panel} title="Subscription" aside=${html`<label>begin with <select value=${taken} onChange=${take}><option value="">a new one</option>
        ${(list ?? []).map((one) => html`<option value=${String(one.id)}>${String(one.id)}</option>`)}</select></label>`}>
        <${Fields} row=${row} onRow=${put} />
        <details open><summary>As JSON</summary><textarea aria-label="The subscription as JSON" rows="10" spellcheck="false" class="mono" value=${text} onInput=${typed}></textarea></details>
        <${Failure} problem=${problem} />
        <div class="tools"><button class="strong" disabled=${Boolean(problem)} onClick=${register}>Register</button>
          <button onClick=${remove}>Withdraw</button><button class="quiet" onClick=${show}>Show its top</button><span role="status" class="good">${done}</span></div><//>
      ${stream?.stands ? html`<${Preview} row=${row} />` : html`<${Panel} title="Preview"><p class="waiting">The answers of this family are pushed as
        publications arrive, so there is no top to preview.</p><//>`}</div>`}
  <//>`;
}

function Preview({ row }) {
  const [told, setTold] = useState({ top: null, problem: null, step: "" });
  const text = JSON.stringify(row);
  useEffect(() => {
    let wanted = true;
    const look = async () => {
      try {
        const { tops, step } = await ask("POST", streamPath(known.stream, "subscriptions", "preview"), [row]);
        if (wanted) setTold({ top: tops[0]?.top ?? [], problem: null, step });
        fetchRows((tops[0]?.top ?? []).map((entry) => String(entry.publication)));
      } catch (problem) {
        if (wanted) setTold((before) => ({ ...before, problem }));
      }
    };
    const first = setTimeout(look, SETTLE_MS);
    const timer = setInterval(() => isFresh() && !document.hidden && look(), AGAIN_MS);
    return () => {
      wanted = false;
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [text, known.stream]);
  const most = Math.max(...(told.top ?? []).map((entry) => Math.abs(entry.score)), 1e-12);
  return html`<${Panel} title="Preview" aside=${told.step && `as of step ${told.step.split(".").at(-1)}`} kind="top who-4">
    <${Failure} problem=${told.problem} />
    ${told.top && !told.top.length && html`<p class="waiting">Nothing that is live matches: ask for more, or wait for publications.</p>`}
    <ol>${(told.top ?? []).map((entry) => html`<li class="entry" key=${entry.publication}><span class="rank">${entry.rank}</span>
      <span class="what">${titleOf(known.rows.get(String(entry.publication)), entry.publication)}</span><span class="score">${score(entry.score)}</span>
      <span class="bar" aria-hidden="true"><i style=${{ width: `${(100 * Math.abs(entry.score)) / most}%` }}></i></span></li>`)}</ol><//>`;
}
