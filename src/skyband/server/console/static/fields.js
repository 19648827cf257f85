// A subscription as a form: one field for each of its columns, whatever family it is of.

import { html } from "./preact.js";

// What a subscription begins as, where the stream has none that could be taken as an example.
const FIRST = {
  window: { id: "new", k: 5, score: "euclidean", point: [0, 0] },
  geotext: { id: "new", k: 5, x: 0, y: 0, terms: ["coffee"], weights: [1], alpha: 0.5 },
  ranges: { id: "new", k: 3, lo: 0, hi: 10 },
  ranked: { id: "new", parts: [{ dims: [0], lo: [0], hi: [1], weight: 1 }] },
};

export function firstOf(stream, list) {
  const example = list?.[0];
  if (!example) return FIRST[stream?.family] ?? { id: "new", k: 5 };
  const { expires_at, ...row } = example;
  return { ...row, id: "new" };
}

const kindOf = (value) => {
  if (Array.isArray(value)) return value.every((one) => typeof one === "number") ? "numbers" : value.every((one) => typeof one === "string") ? "words" : "json";
  return { number: "number", string: "text" }[typeof value] ?? "json";
};

const written = (value) => ({ numbers: (it) => it.join(", "), words: (it) => it.join(", "), json: JSON.stringify }[kindOf(value)] ?? String)(value);

// A text as a value of the kind that the column had; undefined where it cannot be one.
function read(text, kind) {
  const parts = () => text.split(",").map((part) => part.trim()).filter(Boolean);
  try {
    if (kind === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    if (kind === "numbers") return parts().every((part) => Number.isFinite(Number(part))) ? parts().map(Number) : undefined;
    if (kind === "words") return parts();
    return kind === "json" ? JSON.parse(text) : text;
  } catch {
    return undefined;
  }
}

const HINTS = { numbers: "numbers, with commas between", words: "words, with commas between", json: "JSON" };

export function Fields({ row, onRow }) {
  return html`<div class="fields">${Object.entries(row).map(([name, value]) => {
    const kind = kindOf(value);
    const change = (event) => {
      const found = read(event.target.value, kind);
      event.target.setCustomValidity(found === undefined ? `This has to be ${HINTS[kind] ?? `a ${kind}`}.` : "");
      event.target.reportValidity();
      if (found !== undefined) onRow({ ...row, [name]: found });
    };
    return html`<label key=${name}><span>${name}${HINTS[kind] && html`<small> ${HINTS[kind]}</small>`}</span>
      <input value=${written(value)} inputmode=${kind === "number" ? "decimal" : "text"} spellcheck="false" onChange=${change} /></label>`;
  })}</div>`;
}
