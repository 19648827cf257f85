// A plane: what lies still is drawn on a layer of its own, slice by slice, and what is new pulses above it.

import { Board, badge, colour, disc, label, line } from "./board.js";

const PULSE_MS = 1800;
// The layer is drawn anew so often at most while points come and go, and so many points of it in a frame.
const LAYER_MS = 1000;
const SLICE = 2500;

export class Plane extends Board {
  constructor(canvas, options) {
    super(canvas, options);
    this.layer = document.createElement("canvas");
    this.coming = document.createElement("canvas");
    this.sliced = null;
    this.layerAt = -Infinity;
    this.old = true;
    this.timer = 0;
  }

  close() {
    clearTimeout(this.timer);
    super.close();
  }

  take(changed) {
    if (changed.has("theme")) this.sprite = null;
    if (changed.has("size")) {
      for (const one of [this.layer, this.coming]) [one.width, one.height] = [this.canvas.width, this.canvas.height];
    }
    if (["theme", "size", "view", "land", "box", "ratio"].some((name) => changed.has(name))) {
      // What was begun is of another view.
      this.sliced = null;
      this.layerAt = -Infinity;
      this.whole = true;
    }
    if (changed.has("points") || this.whole) this.old = true;
  }

  marks() {
    return this.shown.points;
  }

  draw(ink, now) {
    const waits = this.drawLayer(now);
    this.begin(ink);
    ink.drawImage(this.layer, 0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    const moves = this.drawPulses(ink, now);
    for (const one of this.shown.people) this.drawTies(ink, one);
    for (const one of this.shown.people) this.drawPerson(ink, one);
    if (waits || moves) this.ask();
  }

  // Whether there is more of it to come, in the next frames.
  drawLayer(now) {
    const due = this.layerAt + LAYER_MS - now;
    if (!this.sliced && this.old && due <= 0) this.beginLayer(now);
    else if (this.old) this.drawLater(due);
    if (this.sliced) this.drawSlice();
    return this.sliced !== null;
  }

  drawLater(ms) {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.ask();
    }, Math.max(ms, 0));
  }

  beginLayer(now) {
    this.layerAt = now;
    this.old = false;
    this.sprite ??= spriteOf(colour("--dot"));
    const ink = this.coming.getContext("2d");
    ink.setTransform(this.density, 0, 0, this.density, 0, 0);
    ink.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    if (this.shown.land) this.drawLand(ink);
    this.drawGrid(ink);
    this.sliced = { points: this.shown.points, next: 0, light: document.documentElement.dataset.theme === "light" };
  }

  drawSlice() {
    const { points, next, light } = this.sliced;
    // A view that was moved is seen at once, whole.
    const end = this.whole ? points.length : Math.min(points.length, next + SLICE);
    const ink = this.coming.getContext("2d");
    ink.globalCompositeOperation = light ? "source-over" : "lighter";
    ink.globalAlpha = Math.max(0.2, Math.min(0.7, 900 / Math.max(points.length, 1)));
    for (let i = next; i < end; i++) {
      const [x, y] = this.at(points[i].xy);
      ink.drawImage(this.sprite, x - 8, y - 8, 16, 16);
    }
    ink.globalAlpha = 1;
    ink.globalCompositeOperation = "source-over";
    this.sliced.next = end;
    if (end < points.length) return;
    [this.layer, this.coming, this.sliced, this.whole] = [this.coming, this.layer, null, false];
  }

  drawLand(ink) {
    ink.beginPath();
    for (const ring of this.shown.land) {
      ring.forEach((point, i) => {
        const [x, y] = this.at(point);
        if (i) ink.lineTo(x, y);
        else ink.moveTo(x, y);
      });
    }
    ink.fillStyle = colour("--land");
    ink.strokeStyle = colour("--line");
    ink.fill("evenodd");
    ink.stroke();
  }

  drawPulses(ink, now) {
    let moves = false;
    const hot = colour("--hot");
    const { points } = this.shown;
    for (let i = points.length - 1; i >= 0; i--) {
      const { xy, at } = points[i];
      const age = (now - at) / PULSE_MS;
      if (!at || age >= 1) break; // they are in the order of their arrival
      moves = !this.calm;
      const [x, y] = this.at(xy);
      ink.globalAlpha = 1 - age;
      ink.fillStyle = ink.strokeStyle = hot;
      disc(ink, x, y, 3, true);
      if (!this.calm) disc(ink, x, y, 4 + 18 * age, false);
    }
    ink.globalAlpha = 1;
    return moves;
  }

  drawTies(ink, { xy, colour: name, ties }) {
    if (!xy) return;
    const [x, y] = this.at(xy);
    ink.strokeStyle = ink.fillStyle = colour(`--${name}`);
    ink.lineWidth = 1.5;
    for (const tie of ties) {
      const [tx, ty] = this.at(tie.xy);
      ink.globalAlpha = 0.55;
      line(ink, x, y, tx, ty);
      ink.globalAlpha = 1;
      badge(ink, tx, ty, String(tie.rank));
    }
    ink.lineWidth = 1;
  }

  drawPerson(ink, { xy, colour: name, name: text }) {
    if (!xy) return;
    const [x, y] = this.at(xy);
    ink.strokeStyle = ink.fillStyle = colour(`--${name}`);
    ink.lineWidth = 2.5;
    disc(ink, x, y, 9, false);
    disc(ink, x, y, 3.5, true);
    label(ink, x + 14, y + 4, text);
  }
}

// A soft dot, drawn once: thousands of them add up to a glow where much was said.
function spriteOf(of) {
  const made = document.createElement("canvas");
  made.width = made.height = 32;
  const ink = made.getContext("2d");
  const glow = ink.createRadialGradient(16, 16, 0, 16, 16, 16);
  glow.addColorStop(0, of);
  glow.addColorStop(0.25, `color-mix(in srgb, ${of} 55%, transparent)`);
  glow.addColorStop(1, `color-mix(in srgb, ${of} 0%, transparent)`);
  ink.fillStyle = glow;
  ink.fillRect(0, 0, 32, 32);
  return made;
}
