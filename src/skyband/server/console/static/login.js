// Logging in: the token is shown to the server once, and from then on a cookie that pages cannot read.

import { html, useState } from "./preact.js";
import { ask } from "./api.js";
import { Failure } from "./parts.js";

export function Login({ onDone }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(null);
  const enter = async (event) => {
    event.preventDefault();
    try {
      await ask("POST", "/v1/session", undefined, { authorization: `Bearer ${token.trim()}` });
      onDone();
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<main class="login"><form onSubmit=${enter} class="panel">
    <img src="/console/icon.svg" alt="" width="44" height="44" /><h1>Skyband</h1>
    <p>This server asks for a token. It is shown to the server once; the browser keeps a session in its place, which ends after twelve hours.</p>
    <label for="token">Token</label>
    <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="skb_…" value=${token} onInput=${(event) => setToken(event.target.value)} autofocus required />
    <${Failure} problem=${problem} />
    <button class="strong">Log in</button>
    <p class="about">There is none yet? <code>skyband serve --new-admin NAME</code> makes one.</p></form></main>`;
}

export async function logOut() {
  await ask("DELETE", "/v1/session");
  location.reload();
}
