// The space of intervals: each is a point (l, r) above the diagonal, and the region of an object is a staircase among them.

import { lowerNeighbours, outlineOf, rankFor, tilesOf } from "../staircase.js";
import { Board, colour, disc, label, line } from "./board.js";

export class Stairs extends Board {
  take() {
    const { object, objects, k } = this.shown;
    this.tiles = object ? tilesOf(object, objects, k) : [];
  }

  marks() {
    return this.shown.subscribers;
  }

  draw(ink) {
    this.begin(ink);
    this.drawGrid(ink);
    if (this.shown.object) this.drawRegion(ink);
    this.drawNowhere(ink);
    this.drawSubscribers(ink);
    for (const one of this.shown.people) this.drawPerson(ink, one);
    if (this.shown.object) this.drawApex(ink);
  }

  // Below the diagonal an interval would end before it begins.
  drawNowhere(ink) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const [[left, top], [right, bottom]] = [this.under(0, 0), this.under(w, h)];
    const [low, high] = [Math.min(left, bottom), Math.max(right, top)];
    const [[x0, y0], [x1, y1]] = [this.at([low, low]), this.at([high, high])];
    ink.beginPath();
    ink.moveTo(x0, y0);
    ink.lineTo(x1, y1);
    ink.lineTo(x1, y0);
    ink.closePath();
    ink.fillStyle = colour("--ground");
    ink.fill();
    ink.strokeStyle = colour("--faint");
    line(ink, x0, y0, x1, y1);
  }

  drawRegion(ink) {
    const { object, objects, k } = this.shown;
    const { west, east } = lowerNeighbours(object, objects, k);
    ink.save();
    ink.strokeStyle = colour("--faint");
    ink.setLineDash([3, 6]);
    ink.globalAlpha = 0.55;
    for (const one of [...west, ...east]) this.drawQuadrant(ink, one.x);
    ink.restore();
    for (const tile of this.tiles) this.drawTile(ink, tile, k);
    ink.strokeStyle = colour("--accent");
    ink.lineWidth = 2.5;
    ink.beginPath();
    outlineOf(object, objects, k).forEach((corner, i) => {
      const [x, y] = this.within(corner);
      if (i) ink.lineTo(x, y);
      else ink.moveTo(x, y);
    });
    ink.closePath();
    ink.stroke();
    ink.lineWidth = 1;
  }

  // The intervals that hold a place are those to the north-west of it.
  drawQuadrant(ink, x) {
    const [px, py] = this.at([x, x]);
    line(ink, px, py, px, -9);
    line(ink, px, py, -9, py);
  }

  drawTile(ink, { l0, l1, r0, r1, level }, k) {
    const [x0, y0] = this.within([l0, r1]);
    const [x1, y1] = this.within([l1, r0]);
    if (x1 <= x0 || y1 <= y0) return;
    ink.globalAlpha = 0.12 + (0.4 * (k - level + 1)) / k;
    ink.fillStyle = colour("--accent");
    ink.fillRect(x0, y0, x1 - x0, y1 - y0);
    ink.globalAlpha = 0.5;
    ink.strokeStyle = colour("--ground");
    ink.strokeRect(x0, y0, x1 - x0, y1 - y0);
    ink.globalAlpha = 1;
    if (x1 - x0 < 16 || y1 - y0 < 16) return;
    ink.fillStyle = colour("--ink");
    ink.font = "11px system-ui, sans-serif";
    ink.fillText(String(level), Math.max(x0, 0) + 5, Math.max(y0, 0) + 13);
  }

  drawSubscribers(ink) {
    const { subscribers, k } = this.shown;
    for (const { xy, k: own } of subscribers) {
      const [x, y] = this.at(xy);
      const inside = own === k && rankFor(this.tiles, ...xy) !== null;
      ink.fillStyle = ink.strokeStyle = colour(inside ? "--hot" : "--faint");
      ink.globalAlpha = own === k ? 1 : 0.4;
      disc(ink, x, y, inside ? 4 : 2.6, own === k);
    }
    ink.globalAlpha = 1;
  }

  drawPerson(ink, { xy, colour: name, name: text }) {
    if (!xy) return;
    const [x, y] = this.at(xy);
    ink.strokeStyle = ink.fillStyle = colour(`--${name}`);
    ink.lineWidth = 2.5;
    disc(ink, x, y, 8, false);
    label(ink, x + 13, y + 4, text);
  }

  drawApex(ink) {
    const { object } = this.shown;
    const [x, y] = this.at([object.x, object.x]);
    ink.fillStyle = colour("--accent");
    disc(ink, x, y, 5, true);
    label(ink, x + 10, y + 14, object.id);
  }

  // A corner as a place on the canvas; what has no end ends a little beyond its edge.
  within([l, r]) {
    const [x, y] = this.at([l === -Infinity ? 0 : l, r === Infinity ? 0 : r]);
    return [l === -Infinity ? -9 : x, r === Infinity ? -9 : y];
  }
}
