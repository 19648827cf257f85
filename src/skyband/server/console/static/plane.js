// A plane on a canvas: what lies still is drawn on a layer of its own, and what is new pulses above it.

const PULSE_MS = 1800;
const LAYER_MS = 1000;
const NEAR_PX = 16;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plane {
  constructor(canvas, { calm }) {
    this.canvas = canvas;
    this.layer = document.createElement("canvas");
    this.calm = calm;
    this.points = []; // {xy, at, id}
    this.people = []; // {xy, colour, name, ties: [{xy, rank}]}
    this.land = null;
    this.box = [0, 0, 1, 1];
    this.moved = false;
    this.view = { x: 0, y: 0, scale: 1 };
    this.drawnAt = -Infinity;
    this.frame = 0;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(canvas);
  }

  close() {
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  show({ points, people, land, box, ratio }) {
    const same = String(box) === String(this.box) && land === this.land;
    Object.assign(this, { points, people, land, box, ratio });
    if (!same) this.layerIsOld();
    if (!same && !this.moved) this.fit();
    this.ask();
  }

  recolour() {
    this.sprite = null;
    this.layerIsOld();
    this.ask();
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    this.density = Math.min(devicePixelRatio || 1, 2);
    for (const one of [this.canvas, this.layer]) [one.width, one.height] = [w * this.density, h * this.density];
    if (!this.moved) this.fit();
    this.layerIsOld();
    this.ask();
  }

  fit() {
    const [x0, y0, x1, y1] = this.box;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (!w || !h) return;
    const scales = [(w - 48) / Math.max(x1 - x0, 1e-9), (h - 48) / Math.max(y1 - y0, 1e-9)];
    const least = Math.min(...scales);
    // Axes that measure the same are drawn alike; others fill the screen, each in its own measure.
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale: this.ratio === "free" ? scales[0] : least };
    this.stretch = this.ratio === "free" ? scales[1] / scales[0] : 1;
    this.moved = false;
    this.layerIsOld();
    this.ask();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const [x, y] = this.under(px, py);
    this.view.scale *= factor;
    const [after, below] = this.under(px, py);
    this.pan(x - after, y - below);
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.moved = true;
    this.layerIsOld();
    this.ask();
  }

  at([x, y]) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const { scale } = this.view;
    return [w / 2 + (x - this.view.x) * scale, h / 2 - (y - this.view.y) * scale * this.stretch];
  }

  under(px, py) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [this.view.x + (px - w / 2) / this.view.scale, this.view.y - (py - h / 2) / this.view.scale / this.stretch];
  }

  nearest(px, py) {
    let [best, least] = [null, NEAR_PX ** 2];
    for (const point of this.points) {
      const [x, y] = this.at(point.xy);
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far <= least) [best, least] = [point, far];
    }
    return best;
  }

  layerIsOld() {
    this.drawnAt = -Infinity;
  }

  ask() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw(performance.now());
    });
  }

  draw(now) {
    if (!this.canvas.width || this.stretch === undefined) return;
    if (now - this.drawnAt > LAYER_MS) this.drawLayer(now);
    const ink = this.canvas.getContext("2d");
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ink.drawImage(this.layer, 0, 0);
    ink.scale(this.density, this.density);
    const moves = this.drawPulses(ink, now);
    for (const one of this.people) this.drawTies(ink, one);
    for (const one of this.people) this.drawPerson(ink, one);
    if (moves) this.ask();
  }

  drawLayer(now) {
    this.drawnAt = now;
    const ink = this.layer.getContext("2d");
    ink.setTransform(this.density, 0, 0, this.density, 0, 0);
    ink.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    if (this.land) this.drawLand(ink);
    this.drawGrid(ink);
    this.sprite ??= spriteOf(colour("--dot"));
    ink.globalCompositeOperation = document.documentElement.dataset.theme === "light" ? "source-over" : "lighter";
    ink.globalAlpha = Math.max(0.2, Math.min(0.7, 900 / Math.max(this.points.length, 1)));
    for (const { xy } of this.points) {
      const [x, y] = this.at(xy);
      ink.drawImage(this.sprite, x - 8, y - 8, 16, 16);
    }
    ink.globalAlpha = 1;
    ink.globalCompositeOperation = "source-over";
  }

  drawLand(ink) {
    ink.beginPath();
    for (const ring of this.land) {
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

  drawGrid(ink) {
    const [x0, y1] = this.under(0, 0);
    const [x1, y0] = this.under(this.canvas.clientWidth, this.canvas.clientHeight);
    ink.strokeStyle = colour("--line");
    ink.fillStyle = colour("--faint");
    ink.font = "11px system-ui, sans-serif";
    ink.globalAlpha = 0.75;
    for (const x of ticks(x0, x1, this.canvas.clientWidth / 110)) {
      const px = Math.round(this.at([x, 0])[0]) + 0.5;
      line(ink, px, 0, px, this.canvas.clientHeight);
      ink.fillText(show(x), px + 4, this.canvas.clientHeight - 6);
    }
    for (const y of ticks(y0, y1, this.canvas.clientHeight / 90)) {
      const py = Math.round(this.at([0, y])[1]) + 0.5;
      line(ink, 0, py, this.canvas.clientWidth, py);
      ink.fillText(show(y), 6, py - 4);
    }
    ink.globalAlpha = 1;
  }

  drawPulses(ink, now) {
    let moves = false;
    const hot = colour("--hot");
    for (let i = this.points.length - 1; i >= 0; i--) {
      const { xy, at } = this.points[i];
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
    ink.lineWidth = 4;
    ink.lineJoin = "round";
    ink.strokeStyle = colour("--ground");
    ink.font = "600 13px system-ui, sans-serif";
    ink.strokeText(text, x + 14, y + 4);
    ink.fillText(text, x + 14, y + 4);
    ink.lineWidth = 1;
  }
}

function badge(ink, x, y, text) {
  disc(ink, x, y, 8, true);
  const before = ink.fillStyle;
  ink.fillStyle = colour("--ground");
  ink.font = "700 10px system-ui, sans-serif";
  ink.textAlign = "center";
  ink.fillText(text, x, y + 3.5);
  ink.textAlign = "start";
  ink.fillStyle = before;
}

function disc(ink, x, y, radius, filled) {
  ink.beginPath();
  ink.arc(x, y, radius, 0, 2 * Math.PI);
  if (filled) ink.fill();
  else ink.stroke();
}

function line(ink, x0, y0, x1, y1) {
  ink.beginPath();
  ink.moveTo(x0, y0);
  ink.lineTo(x1, y1);
  ink.stroke();
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

function ticks(low, high, n) {
  const raw = (high - low) / Math.max(n, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((each) => each * power >= raw) * power;
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return found;
}

const show = (x) => String(Number(x.toPrecision(6)));
