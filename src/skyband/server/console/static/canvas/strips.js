// The space of objects: where each lies and how high, with the strips that subscriptions ask about, up to their k-th.

import { Board, badge, colour, disc, label, line } from "./board.js";

const PULSE_MS = 1800;

export class Strips extends Board {
  marks() {
    return this.shown.objects;
  }

  draw(ink) {
    const now = performance.now();
    this.begin(ink);
    this.drawGrid(ink);
    for (const one of this.shown.people) this.drawStrip(ink, one);
    const moves = this.drawObjects(ink, now);
    for (const one of this.shown.people) this.drawTop(ink, one);
    this.drawChosen(ink);
    if (moves) this.ask();
  }

  drawStrip(ink, { span, lid, colour: name, name: text, place }) {
    if (!span) return;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const x0 = span[0] === -Infinity ? 0 : this.at([span[0], 0])[0];
    const x1 = span[1] === Infinity ? w : this.at([span[1], 0])[0];
    const top = lid === null ? 0 : Math.max(0, this.at([0, lid])[1]);
    ink.fillStyle = ink.strokeStyle = colour(`--${name}`);
    ink.globalAlpha = 0.07;
    ink.fillRect(x0, 0, x1 - x0, h);
    ink.globalAlpha = 0.13;
    ink.fillRect(x0, top, x1 - x0, h - top);
    ink.globalAlpha = 1;
    ink.lineWidth = 2;
    line(ink, x0, top, x1, top);
    label(ink, Math.max(x0, 0) + 8, 20 + 18 * place, text);
  }

  // Objects that have changed just now glow, with a line from how high they were.
  drawObjects(ink, now) {
    let moves = false;
    for (const { xy, from, at } of this.shown.objects) {
      const [x, y] = this.at(xy);
      const age = at ? (now - at) / PULSE_MS : 1;
      ink.fillStyle = colour("--dot");
      disc(ink, x, y, 4, true);
      if (age >= 1) continue;
      moves = !this.calm;
      ink.globalAlpha = 1 - age;
      ink.fillStyle = ink.strokeStyle = colour("--hot");
      if (from) line(ink, ...this.at(from), x, y);
      disc(ink, x, y, 4, true);
      if (!this.calm) disc(ink, x, y, 5 + 12 * age, false);
      ink.globalAlpha = 1;
    }
    return moves;
  }

  drawTop(ink, { colour: name, ties, place }) {
    ink.fillStyle = colour(`--${name}`);
    for (const { xy, rank } of ties) {
      const [x, y] = this.at(xy);
      badge(ink, x + 11 + 17 * place, y - 9, String(rank));
    }
  }

  drawChosen(ink) {
    const { object } = this.shown;
    if (!object) return;
    const [x, y] = this.at(object.xy);
    ink.strokeStyle = ink.fillStyle = colour("--accent");
    ink.lineWidth = 2.5;
    disc(ink, x, y, 8, false);
    ink.lineWidth = 1;
    label(ink, x + 12, y + 16, object.id);
  }
}
