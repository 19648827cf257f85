// Tokens: who is let in, with which scopes, when they were used last; making and revoking them.

import { html, useState } from "../preact.js";
import { ask } from "../api.js";
import { doing, useAsked } from "../asked.js";
import { Confirm, Secret } from "../confirm.js";
import { Empty, Failure, Panel, Screen, Scroll } from "../parts.js";
import { known } from "../store.js";
import { dateTime } from "../words.js";

const SCOPES = { read: "see tops and streams", subscribe: "register subscriptions", publish: "publish", admin: "streams, tokens and webhooks" };

export function Tokens() {
  const { value, problem, again } = useAsked("/v1/tokens");
  const [failed, setFailed] = useState(null);
  const [made, setMade] = useState(null);
  const revoke = (name) => doing(() => ask("DELETE", `/v1/tokens/${name}`), again, setFailed);
  return html`<${Screen} title="Tokens" about="Who is let in, and what each may do." request=${{ path: "/v1/tokens" }}>
    <${Failure} problem=${problem ?? failed} />
    ${made && html`<${Secret} title=${`The token “${made.title}”`} text=${made.token} onDone=${() => setMade(null)} />`}
    ${value && !value.tokens.length && html`<${Empty} title="There is no token yet">
      Until there is one, this machine alone is answered, and may do anything. From the first one on nobody is let in without: this
      browser is then logged in with it, so give it the scopes read and admin.<//>`}
    ${value?.tokens.length > 0 && html`<${Panel}><${Scroll}><table><thead><tr><th scope="col">Title</th><th scope="col">Name</th><th scope="col">Scopes</th><th scope="col">Prefix</th>
      <th scope="col">Last used</th><th scope="col">Ends</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${value.tokens.map((token) => html`<tr key=${token.name} class=${token.revoked ? "faded" : ""}><th scope="row">${token.title || "–"}${token.name === known.session?.token && html` <small class="good">yours</small>`}</th>
        <td class="mono">${token.name}</td><td>${token.scopes.join(", ")}</td><td>${token.prefix || "–"}</td><td>${dateTime(token.used)}</td>
        <td>${token.revoked ? html`<span class="bad">revoked</span>` : token.expires ? dateTime(token.expires) : "never"}</td>
        <td class="number">${!token.revoked && html`<${Confirm} label="Revoke" sure="Really revoke" onClick=${revoke(token.name)} />`}</td></tr>`)}</tbody></table><//><//>`}
    <${NewToken} isFirst=${value?.tokens.length === 0} onMade=${(token) => {
      setMade(token);
      again();
    }} />
  <//>`;
}

function NewToken({ isFirst, onMade }) {
  const [problem, setProblem] = useState(null);
  const make = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const ttl = form.get("ttl").trim();
    const body = { title: form.get("title"), scopes: form.getAll("scope"), prefix: form.get("prefix"), ...(ttl ? { ttl } : {}) };
    try {
      const token = await ask("POST", "/v1/tokens", body);
      if (isFirst && body.scopes.includes("read"))
        known.session = await ask("POST", "/v1/session", undefined, { authorization: `Bearer ${token.token}` });
      setProblem(null);
      event.target.reset();
      onMade(token);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Panel} title="Make a token"><form class="fields" onSubmit=${make}>
    <label><span>Title</span><input name="title" required maxlength="200" placeholder="whose it is, or what it is for" /></label>
    <label><span>Ends after <small>such as 30d; never if empty</small></span><input name="ttl" placeholder="never" /></label>
    <label><span>Prefix <small>of the ids of its subscriptions</small></span><input name="prefix" placeholder="all" /></label>
    <fieldset><legend>Scopes</legend>${Object.entries(SCOPES).map(([scope, what]) => html`<label class="check"><input type="checkbox" name="scope" value=${scope}
      defaultChecked=${scope === "read" || (isFirst && scope === "admin")} /> <strong>${scope}</strong> <span class="about">${what}</span></label>`)}</fieldset>
    <${Failure} problem=${problem} /><div><button class="strong">Make the token</button></div></form><//>`;
}
