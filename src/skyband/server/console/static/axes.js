// Which two dimensions are looked at, where there are more.

import { html } from "./preact.js";
import { setWords } from "./address.js";

// What the address says, as far as there are such dimensions.
export function dimensionsIn(query, n) {
  const asked = (query.get("axes") || "0,1").split(",").map(Number);
  return asked.map((dim, i) => (Number.isInteger(dim) && dim >= 0 && dim < Math.max(n, 2) ? dim : i));
}

export const Axes = ({ n, dims, labels = ["Across", "Up"] }) => html`<div class="map-axes">${labels.map((label, i) => html`<label>${label} <select value=${dims[i]}
  onChange=${(event) => setWords({ axes: dims.map((dim, j) => (i === j ? event.target.value : dim)).join() })}>
  ${Array.from({ length: n }, (_, dim) => html`<option value=${dim}>dimension ${dim + 1}</option>`)}</select></label>`)}</div>`;
