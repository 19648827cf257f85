// The screens in the order of their menu, and a mark for each.

import { html } from "./preact.js";
import { Overview } from "./screen/overview.js";
import { Tops } from "./screen/tops.js";
import { MapScreen } from "./screen/map.js";
import { Explain } from "./screen/explain.js";
import { Editor } from "./screen/editor.js";
import { Engine } from "./screen/engine.js";
import { Webhooks } from "./screen/webhooks.js";
import { Tokens } from "./screen/tokens.js";
import { Covering } from "./screen/covering.js";
import { Overlay } from "./screen/overlay.js";
import { Pipeline } from "./screen/pipeline.js";

export const SCREENS = [
  { name: "overview", title: "Overview", key: "o", view: Overview },
  { name: "tops", title: "Tops", key: "t", view: Tops },
  { name: "map", title: "Map", key: "m", view: MapScreen },
  { name: "explain", title: "Explain", key: "x", view: Explain },
  { name: "editor", title: "Editor", key: "e", view: Editor },
  { name: "covering", title: "Covering", key: "c", view: Covering },
  { name: "engine", title: "Engine", key: "n", view: Engine },
  { name: "webhooks", title: "Webhooks", key: "w", view: Webhooks },
  { name: "tokens", title: "Tokens", key: "k", view: Tokens },
  { name: "pipeline", title: "Pipeline", key: "p", view: Pipeline },
  { name: "overlay", title: "Overlay", key: "v", view: Overlay },
];

const MARKS = {
  overview: "M3 12h4l3-8 4 15 3-7h4",
  tops: "M4 5h16M4 10h12M4 15h8M4 20h5",
  map: "M12 21s7-6.5 7-12a7 7 0 1 0-14 0c0 5.5 7 12 7 12zm0-9.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
  explain: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.100-1.500 2.400m0 3v.5M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  editor: "M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3",
  covering: "M4 4h16v16H4zM7 7h7v10H7zM16 10h1.500M16 14h1.500",
  engine: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3m0 14v3M2 12h3m14 0h3M5 5l2 2m10 10 2 2M19 5l-2 2M7 17l-2 2",
  webhooks: "M7 17a4 4 0 1 1 2-7l3-5m5 3a4 4 0 1 0-4 4l3 5m1 1a4 4 0 1 1-4-4H8",
  tokens: "M14 10a5 5 0 1 0-3.500 4.700L13 17h2v2h2v2h4v-4l-7-7zM8 9h.01",
  pipeline: "M3 6h6v4H3zM15 14h6v4h-6zM9 8h3a3 3 0 0 1 3 3v5M3 18h4",
  overlay: "M12 4v6m0 0-6 8m6-8 6 8M12 4h.01M6 19h.01M18 19h.01",
};

export const Mark = ({ name }) => html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" fill="none"
  stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d=${MARKS[name]} /></svg>`;
