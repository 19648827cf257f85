// Covering: which subscriptions stand for others, as a forest, and the boxes of a tree within each other.

import { html, useEffect, useMemo } from "../preact.js";
import { setWords } from "../address.js";
import { useAsked } from "../asked.js";
import { Axes, dimensionsIn } from "../axes.js";
import { depthOf, forestOf, placed } from "../forest.js";
import { Empty, Failure, Panel, Screen, Stat } from "../parts.js";
import { known, theStream } from "../store.js";
import { count, plain } from "../words.js";

const ABOUT = "Which subscriptions stand for others: whatever concerns one concerns the one that it hangs below.";
const AGAIN_MS = 3000;
const MOST_TREES = 60;
const [LINE, DEPTH, LEFT, NAME] = [24, 22, 14, 190];

export function Covering({ query }) {
  const stream = theStream();
  const path = stream?.boxes ? `/v1/console/streams/${encodeURIComponent(stream.name)}/covering` : null;
  const { value, problem, again } = useAsked(path);
  const n = stream?.subscriptions;
  useEffect(() => {
    const timer = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [n]);
  const forest = useMemo(() => forestOf(value?.members ?? []), [value]);
  return html`<${Screen} title="Covering" about=${ABOUT} request=${path && { path }}>
    <${Failure} problem=${problem} />
    ${!stream ? known.vitals && html`<${Empty} title="There is no stream yet">Open one first: the <a href="#/overview">overview</a> says how.<//>`
      : !stream.boxes ? html`<${Empty} title="These subscriptions are not boxes">Subscriptions of the family ${stream.family} ask for what scores best, wherever it is, so that none encloses another.
          Streams of the families ranges and ranked have a forest: choose one of them above.<//>`
      : value && !value.members.length ? html`<${Empty} title="Nobody has subscribed yet">Write a subscription in the <a href=${`#/editor?stream=${stream.name}`}>editor</a>; where one encloses another, it is seen here.<//>`
      : value && html`<${Forest} forest=${forest} more=${value.more} query=${query} />`}
  <//>`;
}

function Forest({ forest, more, query }) {
  const { nodes, roots } = forest;
  const trees = roots.filter((root) => root.children.length).slice(0, MOST_TREES);
  const alone = roots.filter((root) => !root.children.length);
  const chosen = nodes.get(query.get("member")) ?? roots[0];
  const root = rootOf(chosen, nodes);
  return html`<div class="stats"><${Stat} label="Subscriptions" value=${count(nodes.size)} hint=${more ? "The first by id; there are more" : ""} />
      <${Stat} label="Stand for themselves" value=${count(roots.length)} hint="What the routing table of a broker has to hold" />
      <${Stat} label="Covered by others" value=${((100 * (nodes.size - roots.length)) / nodes.size).toFixed(0)} unit="%" />
      <${Stat} label="Deepest" value=${count(roots.reduce((most, one) => Math.max(most, 1 + depthOf(one)), 0))} unit="levels" /></div>
    ${more && html`<p class="about">The first ${count(nodes.size)} subscriptions by id are held against each other; there are more.</p>`}
    <div class="pair covering"><${Panel} title="Forest" aside=${roots.filter((one) => one.children.length).length > trees.length ? `the ${trees.length} largest trees` : ""}>
        ${trees.length ? html`<${Trees} trees=${trees} chosen=${chosen} />` : html`<p class="waiting">No subscription encloses another: each stands for itself.</p>`}
        ${alone.length > 0 && html`<p class="about">${count(alone.length)} stand for themselves alone${alone.length <= 40 ? `: ${alone.map((one) => one.id).join(", ")}` : ""}.</p>`}<//>
      <${Boxes} root=${root} chosen=${chosen} query=${query} /></div>`;
}

function rootOf(node, nodes) {
  let above = node;
  while (nodes.has(above.covered_by)) above = nodes.get(above.covered_by);
  return above;
}

function Trees({ trees, chosen }) {
  const { found, links } = useMemo(() => placed(trees), [trees]);
  const deepest = found.reduce((most, { node }) => Math.max(most, node.depth), 0);
  const at = ({ node, line }) => [LEFT + node.depth * DEPTH, LINE / 2 + line * LINE];
  const bend = ({ from, to }) => {
    const [[x0, y0], [x1, y1]] = [at(from), at(to)];
    return `M${x0} ${y0}V${y1 - 8}Q${x0} ${y1} ${x0 + 8} ${y1}H${x1}`;
  };
  const choose = (node) => (event) => {
    event.preventDefault();
    setWords({ member: node.id });
  };
  return html`<div class="scroll forest"><svg width=${LEFT + deepest * DEPTH + NAME} height=${found.length * LINE} role="group" aria-label=${`${count(trees.length)} trees`}>
    ${links.map((link) => html`<path class="link" d=${bend(link)} key=${link.to.node.id} />`)}
    ${found.map((place) => {
      const [x, y] = at(place);
      const { node } = place;
      return html`<a class=${node === chosen ? "member chosen" : "member"} key=${node.id} href=${`#member-${node.id}`} onClick=${choose(node)}><circle cx=${x} cy=${y} r=${Math.min(9, 3.5 + Math.sqrt(node.n - 1))} class=${node.depth ? "" : "root"} />
        <text x=${x + 13} y=${y + 4}>${node.id}${node.children.length ? html`<tspan class="n"> ${node.n - 1}</tspan>` : ""}</text></a>`;
    })}</svg></div>`;
}

const [WIDE, HIGH] = [520, 420];

// The boxes of one tree within each other: bars where there is one dimension, else rectangles in two of them.
function Boxes({ root, chosen, query }) {
  const { found } = useMemo(() => placed([root]), [root]);
  const n = root.lo.length;
  const dims = dimensionsIn(query, n);
  const spans = dims.slice(0, Math.min(n, 2)).map((dim) => axisOf(found, dim));
  const ids = found.slice(0, 300);
  const step = Math.min(26, HIGH / ids.length);
  const px = (axis, x, size) => (size * (x - axis[0])) / (axis[1] - axis[0]);
  const side = (node, i, size) => {
    const [lo, hi] = [node.lo[dims[i]], node.hi[dims[i]]];
    return [lo === null ? 0 : px(spans[i], lo, size), hi === null ? size : px(spans[i], hi, size)];
  };
  const shape = ({ node }, place) => {
    const [x0, x1] = side(node, 0, WIDE);
    const [y0, y1] = n > 1 ? side(node, 1, HIGH).map((y) => HIGH - y).reverse() : [place * step + 2, (place + 1) * step - 2];
    return html`<rect key=${node.id} x=${x0} y=${y0} width=${Math.max(2, x1 - x0)} height=${Math.max(2, y1 - y0)} class=${`box depth-${Math.min(node.depth, 4)} ${node === chosen ? "chosen" : ""}`}><title>${node.id}: ${boundsText(node)}</title></rect>`;
  };
  return html`<${Panel} title=${`Boxes below ${root.id}`} aside=${`${count(root.n)} in this tree`} kind="boxes">
    ${n > 2 && html`<${Axes} n=${n} dims=${dims} />`}
    <svg viewBox=${`-2 -2 ${WIDE + 4} ${(n > 1 ? HIGH : ids.length * step) + 26}`} role="img" aria-label=${`The boxes of ${count(root.n)} subscriptions within each other`}>
      ${ids.map(shape)}${spans[0] && html`<text class="end" x="0" y=${(n > 1 ? HIGH : ids.length * step) + 18}>${plain(spans[0][0])}</text><text class="end" x=${WIDE} text-anchor="end" y=${(n > 1 ? HIGH : ids.length * step) + 18}>${plain(spans[0][1])}</text>`}</svg>
    <p><strong>${chosen.id}</strong> <span class="about">asks for ${boundsText(chosen)}${chosen.covered_by ? `, within ${chosen.covered_by}` : ""}.</span></p><//>`;
}

function axisOf(found, dim) {
  const ends = found.flatMap(({ node }) => [node.lo[dim], node.hi[dim]]).filter((x) => x !== null);
  const [low, high] = [ends.reduce((a, b) => Math.min(a, b), Infinity), ends.reduce((a, b) => Math.max(a, b), -Infinity)];
  return low < high ? [low, high] : Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
}

const boundsText = ({ lo, hi }) => lo.map((low, i) => (low === null && hi[i] === null ? "anything" : low === null ? `up to ${plain(hi[i])}` : hi[i] === null ? `${plain(low)} and more` : `${plain(low)} to ${plain(hi[i])}`)).join(" by ");
