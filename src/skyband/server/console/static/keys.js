// The keyboard: `g` and a letter for a screen, and a few single keys.

import { html, useEffect, useRef } from "./preact.js";
import { readAddress, writeAddress } from "./address.js";
import { SCREENS } from "./screens.js";

const LONG_AGO = -Infinity;

let leads = LONG_AGO;

const typing = (target) => target.matches?.("input, textarea, select, [contenteditable]");

export function takeKey(event, { setHelp, turn }) {
  if (event.key === "Escape") return setHelp(false);
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const led = performance.now() - leads < 1200;
  leads = LONG_AGO;
  if (led) {
    const screen = SCREENS.find((one) => one.key === event.key);
    if (screen) writeAddress(screen.name, readAddress().query);
  } else if (event.key === "g") leads = performance.now();
  else if (event.key === "?") setHelp(true);
  else if (event.key === "t") turn();
  else press(event);
}

// Other keys press the button of the screen that names them.
function press(event) {
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!button) return;
  event.preventDefault();
  if (button.matches("input")) button.focus();
  else button.click();
}

const OTHERS = [["p", "pause the tops, or go on"], ["/", "find a subscription"], ["c", "copy the view as curl"], ["t", "dark or light colours"], ["?", "these keys"], ["Esc", "close"]];

export function Help({ close }) {
  const box = useRef(null);
  useEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return html`<dialog ref=${box} onClose=${close} aria-labelledby="keys-title" class="help">
    <h2 id="keys-title">Keys</h2>
    <dl>${SCREENS.map((screen) => html`<div><dt><kbd>g</kbd> <kbd>${screen.key}</kbd></dt><dd>${screen.title}</dd></div>`)}
    ${OTHERS.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <button onClick=${close}>Close</button></dialog>`;
}
