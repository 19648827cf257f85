// Subscriptions by name: a list to choose from, and what each asks for.

import { html, useEffect, useRef, useState } from "./preact.js";
import { setShown } from "./address.js";
import { ask, streamPath } from "./api.js";
import { theStream } from "./store.js";
import { asksFor } from "./words.js";

const MOST = 300;
const AGAIN_MS = 3000;

export const COLOURS = ["who-1", "who-2", "who-3", "who-4", "who-5", "who-6"];
export const colourOf = (names, name) => COLOURS[names.indexOf(name) % COLOURS.length] || COLOURS[0];

// The first subscriptions of a stream by id, asked for again when there are more or fewer; any other is found by its id.
export function useSubscriptions(stream) {
  const [found, setFound] = useState({ list: null, more: false });
  const asked = useRef({ stream: null, at: -Infinity });
  const n = theStream()?.subscriptions;
  useEffect(() => {
    if (!stream) return undefined;
    const same = asked.current.stream === stream;
    const look = () => {
      asked.current = { stream, at: performance.now() };
      const tell = (told) => asked.current.stream === stream && setFound(told);
      ask("GET", `${streamPath(stream, "subscriptions")}?limit=${MOST}`)
        .then((page) => tell({ list: page.subscriptions, more: page.next !== null }))
        .catch(() => tell((before) => ({ list: before.list ?? [], more: false })));
    };
    if (!same) return look();
    const timer = setTimeout(look, Math.max(0, asked.current.at + AGAIN_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [stream, n]);
  return found;
}

export function Chooser({ stream, names, list, more }) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState("");
  const known = new Set((list ?? []).map((one) => String(one.id)));
  const add = async (event) => {
    event.preventDefault();
    const name = typed.trim();
    if (!name || names.includes(name)) return setTyped("");
    try {
      if (!known.has(name)) await ask("GET", streamPath(stream, "subscriptions", name));
    } catch (error) {
      return setProblem(error.message);
    }
    setProblem("");
    setTyped("");
    return setShown([...names, name]);
  };
  return html`<form class="chooser" onSubmit=${add}>
    <ul class="chips" aria-label="Shown subscriptions">${names.map((name) => html`<li class=${`chip ${colourOf(names, name)}`} key=${name}>
      <i class="dot"></i>${name}<button type="button" aria-label=${`Hide ${name}`} onClick=${() => setShown(names.filter((one) => one !== name))}>×</button></li>`)}</ul>
    <label class="hidden" for="find">Show another subscription</label>
    <input id="find" data-key="/" list="subscription-ids" placeholder="Show a subscription…" title=${more ? `The list has the first ${MOST}; type the id of any other.` : ""} value=${typed} autocomplete="off"
      onInput=${(event) => setTyped(event.target.value)} onChange=${(event) => known.has(event.target.value) && add(event)} />
    <datalist id="subscription-ids">${(list ?? []).filter((one) => !names.includes(String(one.id))).map(
      (one) => html`<option value=${String(one.id)}>${asksFor(one)}</option>`)}</datalist>
    <button class="quiet">Show</button>

    ${problem && html`<span class="bad" role="alert">${problem}</span>`}
  </form>`;
}

// Where nothing is chosen yet, the first ones are.
export function useSome(stream, names, list, most = 3) {
  useEffect(() => {
    if (most && !names.length && list?.length) setShown(preferred(list).slice(0, most));
  }, [stream, list, most]);
}

// Names that people gave before numbers that a program drew.
const preferred = (list) => {
  const ids = list.map((one) => String(one.id));
  const named = ids.filter((id) => !/\d/.test(id));
  return [...named, ...ids.filter((id) => /\d/.test(id))];
};
