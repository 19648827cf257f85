// A button for what cannot be taken back: it asks once more, in its own place.

import { html, useEffect, useState } from "./preact.js";

export function Confirm({ label, sure, onClick }) {
  const [asks, setAsks] = useState(false);
  useEffect(() => {
    const timer = asks ? setTimeout(() => setAsks(false), 4000) : 0;
    return () => clearTimeout(timer);
  }, [asks]);
  return html`<button class=${asks ? "strong" : "quiet"} onClick=${() => {
    if (asks) onClick();
    setAsks(!asks);
  }}>${asks ? sure : label}</button>`;
}

export const Secret = ({ title, text, onDone }) => html`<div class="secret" role="alert"><h2>${title}</h2>
  <p>It is shown this once: copy it now, and keep it where secrets are kept.</p><pre tabindex="0">${text}</pre>
  <div class="tools"><button onClick=${() => navigator.clipboard?.writeText(text)}>Copy</button><button class="quiet" onClick=${onDone}>I have kept it</button></div></div>`;
