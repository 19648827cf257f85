// Subscriptions by name: a list to choose from, and what each asks for.

import { html, useState, useEffect } from "./preact.js";
import { setShown } from "./address.js";
import { ask, streamPath } from "./api.js";
import { asksFor } from "./words.js";

const MOST = 300;

export const COLOURS = ["who-1", "who-2", "who-3", "who-4", "who-5", "who-6"];
export const colourOf = (names, name) => COLOURS[names.indexOf(name) % COLOURS.length] || COLOURS[0];

// The first subscriptions of a stream by id; more are found by typing a whole id.
export function useSubscriptions(stream) {
  const [found, setFound] = useState({ list: null, more: false });
  useEffect(() => {
    let wanted = true;
    if (!stream) return undefined;
    ask("GET", `${streamPath(stream, "subscriptions")}?limit=${MOST}`)
      .then((page) => wanted && setFound({ list: page.subscriptions, more: page.next !== null }))
      .catch(() => wanted && setFound({ list: [], more: false }));
    return () => (wanted = false);
  }, [stream]);
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
    if (!names.length && list?.length) setShown(preferred(list).slice(0, most));
  }, [stream, list]);
}

// Names that people gave before numbers that a program drew.
const preferred = (list) => {
  const ids = list.map((one) => String(one.id));
  const named = ids.filter((id) => !/\d/.test(id));
  return [...named, ...ids.filter((id) => /\d/.test(id))];
};
