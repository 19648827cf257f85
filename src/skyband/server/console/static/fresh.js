// How fresh a screen is: always visible, and what is stale never looks live.

import { html, useState, useEffect } from "./preact.js";
import { isFresh, reconnect } from "./feed.js";
import { known } from "./store.js";
import { clock } from "./words.js";

function useClock(ms) {
  const [, draw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => draw((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, []);
}

const heardClock = () => clock(Date.now() - (performance.now() - known.heardAt));

export function Freshness() {
  useClock(500);
  const fresh = isFresh();
  const state = fresh ? "live" : known.heardAt ? "stale" : "connecting";
  document.documentElement.dataset.fresh = state;
  const text = { live: "Live", stale: "Not live", connecting: "Connecting" }[state];
  const step = known.step ? known.step.split(".").at(-1) : "";
  return html`<span class="fresh ${state}" role="status" title=${fresh && known.step ? `Everything up to step ${known.step} is shown` : ""}>
    <i aria-hidden="true"></i>${text}${fresh && step && html`<span class="step" aria-hidden="true">step ${step}</span>`}</span>`;
}

export function StaleNotice() {
  if (isFresh() || !known.heardAt) return null;
  return html`<div class="stale-notice" role="alert"><span><strong>Not live.</strong> What you see is from ${heardClock()}.
    ${" "}${known.reason} The console tries again by itself, and goes on where it stopped.</span>
    <button onClick=${reconnect}>Try now</button></div>`;
}
