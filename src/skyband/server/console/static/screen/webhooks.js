// Webhooks: where messages are sent, what became of each attempt, and messages that nobody took.

import { html, useEffect, useState } from "../preact.js";
import { setWords } from "../address.js";
import { ask } from "../api.js";
import { doing, useAsked } from "../asked.js";
import { Confirm, Secret } from "../confirm.js";
import { Empty, Failure, Panel, Screen, Scroll } from "../parts.js";
import { known } from "../store.js";
import { count, dateTime } from "../words.js";

const PATH = "/v1/webhooks";
const AGAIN_MS = 5000;

export function Webhooks({ query }) {
  const { value, problem, again } = useAsked(PATH);
  const [failed, setFailed] = useState(null);
  const [secret, setSecret] = useState(null);
  const hooks = value?.webhooks ?? [];
  const chosen = hooks.find((hook) => hook.id === query.get("hook")) ?? hooks[0];
  return html`<${Screen} title="Webhooks" about="Where changes are sent, and what became of each attempt." request=${{ path: chosen ? `${PATH}/${chosen.id}/attempts` : PATH }}>
    <${Failure} problem=${problem ?? failed} />
    ${secret && html`<${Secret} title="The secret that signs its messages" text=${secret} onDone=${() => setSecret(null)} />`}
    ${value && !hooks.length && html`<${Empty} title="There is no webhook yet">A webhook sends the changes of a stream to an address of yours, signed, with
      ten attempts over about three days. Say below where to.<//>`}
    ${hooks.length > 0 && html`<${Panel}><${Scroll}><table><thead><tr><th scope="col">Title</th><th scope="col">Stream</th><th scope="col">Address</th><th scope="col">State</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${hooks.map((hook) => html`<tr key=${hook.id} class=${hook === chosen ? "chosen" : ""}><th scope="row"><a href="#/webhooks" onClick=${(event) => {
          event.preventDefault();
          setWords({ hook: hook.id });
        }}>${hook.title || hook.id}</a></th><td>${hook.stream}</td><td class="mono">${hook.url}</td>
        <td><span class=${hook.state === "enabled" ? "good" : "bad"} title=${hook.reason ?? ""}>${hook.state}</span></td>
        <td class="number"><${Actions} hook=${hook} again=${again} setProblem=${setFailed} setSecret=${setSecret} /></td></tr>`)}</tbody></table><//><//>`}
    ${chosen && html`<${Sent} key=${chosen.id} hook=${chosen} />`}
    <${NewHook} onMade=${(hook) => {
      setSecret(hook.secret);
      setWords({ hook: hook.id });
      again();
    }} />
  <//>`;
}

function Actions({ hook, again, setProblem, setSecret }) {
  const path = `${PATH}/${hook.id}`;
  const other = hook.state === "enabled" ? "disabled" : "enabled";
  const rotate = async () => setSecret((await ask("POST", `${path}/secret`, { overlap: "24h" })).secret);
  return html`<button class="quiet" onClick=${doing(() => ask("PATCH", path, { state: other }), again, setProblem)}>${other === "enabled" ? "Enable" : "Disable"}</button>
    <${Confirm} label="New secret" sure="Really a new secret" onClick=${doing(rotate, again, setProblem)} />
    <${Confirm} label="Remove" sure="Really remove" onClick=${doing(() => ask("DELETE", path), again, setProblem)} />`;
}

function Sent({ hook }) {
  const attempts = useAsked(`${PATH}/${hook.id}/attempts?limit=50`);
  const dead = useAsked(`${PATH}/${hook.id}/dead?limit=50`);
  const [problem, setProblem] = useState(null);
  const again = () => {
    attempts.again();
    dead.again();
  };
  useEffect(() => {
    const timer = setInterval(() => document.hidden || again(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const replay = doing(() => ask("POST", `${PATH}/${hook.id}/dead/replay`, {}), again, setProblem);
  const lost = dead.value?.dead ?? [];
  return html`<div class="pair"><${Panel} title="Attempts" aside="the latest first"><${Scroll}><table><thead><tr><th scope="col">When</th><th scope="col">Answer</th><th scope="col" class="number">Took</th></tr></thead>
      <tbody>${(attempts.value?.attempts ?? []).map((one) => html`<tr key=${one.id}><td>${dateTime(one.at)}</td>
        <td class=${one.status >= 200 && one.status < 300 ? "good" : "bad"}>${one.status ?? one.error}</td><td class="number">${count(one.ms)} ms</td></tr>`)}</tbody></table><//>
      ${attempts.value && !attempts.value.attempts.length && html`<p class="waiting">Nothing has been sent yet.</p>`}<//>
    <${Panel} title="Dead letters" aside=${lost.length ? html`<button onClick=${replay}>Send all again</button>` : ""}><${Failure} problem=${problem} />
      ${lost.length ? html`<ul class="plain">${lost.map((one) => html`<li key=${one.seq}><strong class="mono">${one.id}</strong> <span class="about">${one.kind}</span></li>`)}</ul>`
        : html`<p class="waiting">Every message was taken, or has attempts left.</p>`}<//></div>`;
}

function NewHook({ onMade }) {
  const [problem, setProblem] = useState(null);
  const make = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const names = form.get("subscriptions").split(",").map((name) => name.trim()).filter(Boolean);
    const body = { stream: form.get("stream"), url: form.get("url"), title: form.get("title"), mode: form.get("mode"), ...(names.length ? { subscriptions: names } : {}) };
    try {
      onMade(await ask("POST", PATH, body));
      setProblem(null);
      event.target.reset();
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Panel} title="Make a webhook"><form class="fields" onSubmit=${make}>
    <label><span>Title</span><input name="title" maxlength="200" placeholder="who receives it" /></label>
    <label><span>Address</span><input name="url" type="url" required placeholder="https://…" /></label>
    <label><span>Stream</span><select name="stream">${(known.vitals?.streams ?? []).map((stream) => html`<option>${stream.name}</option>`)}</select></label>
    <label><span>Mode</span><select name="mode"><option value="every">every step</option><option value="latest">the latest top</option></select></label>
    <label><span>Subscriptions <small>ids with commas between; all if empty</small></span><input name="subscriptions" placeholder="all" /></label>
    <${Failure} problem=${problem} /><div><button class="strong">Make the webhook</button></div></form><//>`;
}
