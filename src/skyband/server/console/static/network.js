// Where the brokers of a network are drawn: linked ones draw each other near, all push each other away, always the same.

const STEPS = 300;

// A place from -1 to 1 for each of n brokers; links are pairs of their numbers.
export function layout(n, links) {
  const places = Array.from({ length: n }, (_, i) => [Math.cos((2 * Math.PI * i) / n), Math.sin((2 * Math.PI * i) / n)]);
  const near = 1.6 / Math.sqrt(Math.max(n, 1));
  for (let step = 0; step < STEPS; step++) {
    const moves = places.map(() => [0, 0]);
    for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) push(places, moves, i, j, near);
    for (const [i, j] of links) pull(places, moves, i, j, near);
    const heat = 0.12 * (1 - step / STEPS) + 0.002;
    places.forEach((place, i) => {
      const far = Math.hypot(...moves[i]) || 1;
      for (const axis of [0, 1]) place[axis] += (moves[i][axis] / far) * Math.min(far, heat);
    });
  }
  return centred(places);
}

function push(places, moves, i, j, near) {
  const [dx, dy, far] = between(places, i, j);
  const force = near ** 2 / far;
  move(moves, i, j, (dx / far) * force, (dy / far) * force);
}

function pull(places, moves, i, j, near) {
  const [dx, dy, far] = between(places, i, j);
  const force = -(far ** 2) / near;
  move(moves, i, j, (dx / far) * force, (dy / far) * force);
}

function between(places, i, j) {
  const [dx, dy] = [places[i][0] - places[j][0], places[i][1] - places[j][1]];
  return [dx, dy, Math.max(Math.hypot(dx, dy), 1e-3)];
}

function move(moves, i, j, dx, dy) {
  moves[i][0] += dx;
  moves[i][1] += dy;
  moves[j][0] -= dx;
  moves[j][1] -= dy;
}

function centred(places) {
  if (places.length < 2) return places.map(() => [0, 0]);
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // Each axis fills the picture, but for one along which there is next to nothing.
  const least = Math.max(x1 - x0, y1 - y0, 1e-6) / 4;
  const half = [Math.max(x1 - x0, least) / 2, Math.max(y1 - y0, least) / 2];
  return places.map(([x, y]) => [(x - (x0 + x1) / 2) / half[0], (y - (y0 + y1) / 2) / half[1]]);
}
