// The frame around all screens: where one is, how fresh it is, and the keys.

import { html, render, useState, useEffect } from "./preact.js";
import { readAddress, setWords, shownNames, writeAddress } from "./address.js";
import { ask } from "./api.js";
import { listen } from "./feed.js";
import { known, touch, watch } from "./store.js";
import { Freshness, StaleNotice } from "./fresh.js";
import { Help, takeKey } from "./keys.js";
import { Login, logOut } from "./login.js";
import { Mark, SCREENS } from "./screens.js";
import { nextTheme, useTheme } from "./theme.js";

export async function begin() {
  try {
    known.session = await ask("GET", "/v1/session");
    known.needsToken = false;
    follow();
  } catch (problem) {
    if (problem.status === 401) known.needsToken = true;
    else {
      known.reason = problem.message;
      setTimeout(begin, 1000);
    }
  }
  touch();
}

// What is listened to follows from the address; without a stream in it, from the first stream that there is.
async function follow() {
  if (!known.session) return;
  const { query } = readAddress();
  let stream = query.get("stream");
  if (!stream) stream = known.stream || (await firstStream());
  listen(stream, shownNames(query));
}

async function firstStream() {
  try {
    return (await ask("GET", "/v1/streams?limit=1")).streams[0]?.name ?? null;
  } catch {
    return null;
  }
}

function App() {
  const [, draw] = useState(0);
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useTheme();
  useEffect(() => watch(() => draw((n) => n + 1)), []);
  useEffect(() => {
    const told = (event) => takeKey(event, { setHelp, turn: () => setTheme(nextTheme) });
    addEventListener("keydown", told);
    return () => removeEventListener("keydown", told);
  }, []);
  if (known.needsToken) return html`<${Login} onDone=${begin} />`;
  const { screen, query } = readAddress();
  const current = SCREENS.find((one) => one.name === screen) || SCREENS[0];
  useTitle(current.title);
  return html`<a class="skip" href="#screen-title" onClick=${skip}>Skip to the screen</a>
    <div class="frame"><${Bar} theme=${theme} turn=${() => setTheme(nextTheme)} help=${() => setHelp(true)} />
    <${Nav} current=${current} query=${query} />
    <main><${StaleNotice} /><div class="view"><${current.view} query=${query} theme=${theme} key=${current.name + known.stream} /></div></main></div>
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("screen-title")?.focus();
}

function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · Skyband`;
  }, [title]);
}

const Bar = ({ theme, turn, help }) => html`<header class="bar">
  <a class="brand" href="#/overview" aria-label="Skyband, overview"><img src="/console/icon.svg" alt="" width="26" height="26" /><span>Skyband</span></a>
  <${StreamChoice} /><span class="grow"></span><${Freshness} />
  <button class="icon" onClick=${turn} aria-label=${theme === "dark" ? "Use light colours" : "Use dark colours"} title="Colours (t)">${theme === "dark" ? "☀" : "☾"}</button>
  <button class="icon" onClick=${help} aria-label="Keys" title="Keys (?)">?</button>
  ${known.session?.token && html`<button class="quiet log-out" onClick=${logOut}>Log out</button>`}
</header>`;

function StreamChoice() {
  const streams = known.vitals?.streams ?? [];
  if (!streams.length) return null;
  return html`<label class="choice"><span>Stream</span><select aria-label="Stream" value=${known.stream} onChange=${(event) =>
    setWords({ stream: event.target.value, show: null }, false)}>${streams.map(
    (stream) => html`<option value=${stream.name}>${stream.name}</option>`)}</select></label>`;
}

function Nav({ current, query }) {
  const kept = new URLSearchParams([...query].filter(([name]) => name === "stream" || name === "show"));
  // On a phone the menu is wider than its place.
  useEffect(() => document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [current]);
  const to = (name) => `#/${name}${kept.size ? `?${kept}` : ""}`;
  return html`<nav aria-label="Screens"><ul>${SCREENS.map(
    (screen) => html`<li><a href=${to(screen.name)} aria-current=${screen === current ? "page" : null}
      title=${`${screen.title} (g ${screen.key})`}><${Mark} name=${screen.name} /><span>${screen.title}</span></a></li>`)}</ul></nav>`;
}

// A page that was opened before there was any stream goes to the first that is opened.
watch(() => {
  const first = known.vitals?.streams[0];
  if (!known.stream && first) listen(first.name, shownNames(readAddress().query));
});
addEventListener("hashchange", () => {
  follow();
  touch();
});
if (!location.hash) writeAddress("overview", new URLSearchParams(), true);
render(html`<${App} />`, document.getElementById("app"));
begin();
