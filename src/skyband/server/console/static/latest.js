// The stream as a list, newest first.

import { html } from "./preact.js";
import { Panel } from "./parts.js";
import { known } from "./store.js";
import { titleOf } from "./words.js";

const MOST = 12;

export function Latest() {
  const latest = known.arrivals.slice(-MOST).reverse();
  return html`<${Panel} title="The stream, newest first" kind="latest"><ol>${latest.map(({ id, row, number }) => html`<li key=${number}>${titleOf(row, id)}</li>`)}</ol>
    ${!latest.length && html`<p class="waiting">Nothing has arrived since this page was opened. Publish to the stream, and it is seen here at once.</p>`}<//>`;
}
