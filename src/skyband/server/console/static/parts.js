// Small parts that all screens are made of.

import { html, useEffect, useRef, useState } from "./preact.js";
import { copyText, asCurl, asPython } from "./copy.js";

export const Screen = ({ title, about, request, tools, children }) => html`
  <section class="screen" aria-labelledby="screen-title">
    <header class="screen-head">
      <div><h1 id="screen-title" tabindex="-1">${title}</h1><p class="about">${about}</p></div>
      <div class="tools">${tools}${request && html`<${CopyAs} request=${request} />`}</div>
    </header>
    ${children}
  </section>`;

export const Panel = ({ title, aside, children, kind = "" }) => html`
  <div class="panel ${kind}">
    ${title && html`<div class="panel-head"><h2>${title}</h2>${aside && html`<span class="aside">${aside}</span>`}</div>`}
    ${children}
  </div>`;

// What is wider than its place can be scrolled by keys as well, and only then.
export function Scroll({ children }) {
  const place = useRef(null);
  useEffect(() => {
    const it = place.current;
    const look = () => (it.scrollWidth > it.clientWidth ? it.setAttribute("tabindex", "0") : it.removeAttribute("tabindex"));
    const sizes = new ResizeObserver(look);
    sizes.observe(it);
    sizes.observe(it.firstElementChild);
    return () => sizes.disconnect();
  }, []);
  return html`<div class="scroll" ref=${place}>${children}</div>`;
}

export const Stat = ({ label, value, unit, hint }) => html`
  <div class="stat" title=${hint || ""}><span class="stat-label">${label}</span>
    <span class="stat-value">${value}${unit && html`<small> ${unit}</small>`}</span></div>`;

export const Empty = ({ title, children, code }) => html`
  <div class="empty"><div class="empty-mark" aria-hidden="true"></div><h2>${title}</h2><p>${children}</p>
    ${code && html`<pre tabindex="0">${code}</pre>`}</div>`;

export const Failure = ({ problem }) =>
  problem
    ? html`<div class="failure" role="alert"><strong>${problem.message}</strong>
        ${problem.rejects?.length
          ? html`<ul>${problem.rejects.map((it) => html`<li>row ${it.row}, ${it.column}: ${it.reason}</li>`)}</ul>`
          : null}</div>`
    : null;

export function CopyAs({ request }) {
  const [done, setDone] = useState("");
  useEffect(() => {
    const timer = done ? setTimeout(() => setDone(""), 1600) : 0;
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (name, text) => async () => setDone((await copyText(text(request))) ? name : "failed");
  return html`<div class="copy" role="group" aria-label="Copy this view as a request">
    <button class="quiet" data-copy="curl" data-key="c" onClick=${copy("curl", asCurl)}>${done === "curl" ? "Copied" : "Copy as curl"}</button>
    <button class="quiet" data-copy="python" onClick=${copy("python", asPython)}>${done === "python" ? "Copied" : "Python"}</button>
    <span class="hidden" role="status">${done && `Copied as ${done}.`}</span>
  </div>`;
}
