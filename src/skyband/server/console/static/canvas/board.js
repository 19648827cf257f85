// A canvas whose view can be moved: it keeps what is shown, and draws when that has changed, and not otherwise.

const NEAR_PX = 16;
// What is too large to be compared is taken as changed when it is another array.
const LARGE = new Set(["points", "land", "objects", "subscribers"]);

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Board {
  constructor(canvas, { calm }) {
    this.canvas = canvas;
    this.calm = calm;
    this.shown = {};
    this.box = [0, 0, 1, 1];
    this.moved = false;
    this.view = { x: 0, y: 0, scale: 1 };
    this.stretch = 1;
    this.density = 1;
    this.frame = 0;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(canvas);
  }

  close() {
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  show(next) {
    const changed = new Set(Object.keys(next).filter((name) => !alike(name, this.shown[name], next[name])));
    if (!changed.size) return;
    this.shown = next;
    this.box = next.box;
    this.take(changed);
    if ((changed.has("box") || changed.has("ratio")) && !this.moved) this.fit();
    this.ask();
  }

  // What a change of these means to what is drawn already.
  take(changed) {}

  recolour() {
    this.take(new Set(["theme"]));
    this.ask();
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    this.density = Math.min(devicePixelRatio || 1, 2);
    [this.canvas.width, this.canvas.height] = [w * this.density, h * this.density];
    this.take(new Set(["size"]));
    if (!this.moved) this.fit();
    this.ask();
  }

  fit() {
    const [x0, y0, x1, y1] = this.box;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (!w || !h) return;
    const scales = [(w - 48) / Math.max(x1 - x0, 1e-9), (h - 48) / Math.max(y1 - y0, 1e-9)];
    const free = this.shown.ratio === "free";
    // Axes that measure the same are drawn alike; others fill the screen, each in its own measure.
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale: free ? scales[0] : Math.min(...scales) };
    this.stretch = free ? scales[1] / scales[0] : 1;
    this.moved = false;
    this.turn();
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
    this.turn();
  }

  // Another part is looked at.
  turn() {
    this.take(new Set(["view"]));
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

  // What can be pointed at, each with its place `xy`.
  marks() {
    return [];
  }

  nearest(px, py) {
    let [best, least] = [null, NEAR_PX ** 2];
    for (const mark of this.marks()) {
      const [x, y] = this.at(mark.xy);
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far <= least) [best, least] = [mark, far];
    }
    return best;
  }

  ask() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.canvas.width && this.shown.box) this.draw(this.canvas.getContext("2d"), performance.now());
    });
  }

  begin(ink) {
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ink.scale(this.density, this.density);
  }

  drawGrid(ink) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const [[x0, y1], [x1, y0]] = [this.under(0, 0), this.under(w, h)];
    ink.strokeStyle = colour("--line");
    ink.fillStyle = colour("--faint");
    ink.font = "11px system-ui, sans-serif";
    ink.lineWidth = 1;
    ink.globalAlpha = 0.75;
    for (const x of ticks(x0, x1, w / 110)) {
      const px = Math.round(this.at([x, 0])[0]) + 0.5;
      line(ink, px, 0, px, h);
      ink.fillText(plain(x), px + 4, h - 6);
    }
    for (const y of ticks(y0, y1, h / 90)) {
      const py = Math.round(this.at([0, y])[1]) + 0.5;
      line(ink, 0, py, w, py);
      ink.fillText(plain(y), 6, py - 4);
    }
    ink.globalAlpha = 1;
  }
}

function alike(name, one, other) {
  return one === other || (!LARGE.has(name) && JSON.stringify(one) === JSON.stringify(other));
}

export function badge(ink, x, y, text) {
  disc(ink, x, y, 8, true);
  const before = ink.fillStyle;
  ink.fillStyle = colour("--ground");
  ink.font = "700 10px system-ui, sans-serif";
  ink.textAlign = "center";
  ink.fillText(text, x, y + 3.5);
  ink.textAlign = "start";
  ink.fillStyle = before;
}

// A name that can be read whatever lies behind it.
export function label(ink, x, y, text) {
  ink.lineWidth = 4;
  ink.lineJoin = "round";
  ink.strokeStyle = colour("--ground");
  ink.font = "600 13px system-ui, sans-serif";
  ink.strokeText(text, x, y);
  ink.fillText(text, x, y);
  ink.lineWidth = 1;
}

export function disc(ink, x, y, radius, filled) {
  ink.beginPath();
  ink.arc(x, y, radius, 0, 2 * Math.PI);
  if (filled) ink.fill();
  else ink.stroke();
}

export function line(ink, x0, y0, x1, y1) {
  ink.beginPath();
  ink.moveTo(x0, y0);
  ink.lineTo(x1, y1);
  ink.stroke();
}

function ticks(low, high, n) {
  const raw = (high - low) / Math.max(n, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((each) => each * power >= raw) * power;
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return found;
}

const plain = (x) => String(Number(x.toPrecision(6)));
