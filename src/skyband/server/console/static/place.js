// Where things lie: publications and subscriptions of any family as points of a plane, or of the Earth.

const UNITS = { us: 1, ms: 1e3, s: 1e6, m: 60e6, min: 60e6, h: 3600e6, d: 86400e6, w: 604800e6 };

export function placeOf(thing, dims) {
  if (typeof thing?.x === "number" && typeof thing.y === "number") return [thing.x, thing.y];
  if (typeof thing?.x?.[0] === "number" && typeof thing.y === "number") return [thing.x[0], thing.y];
  if (Array.isArray(thing?.point)) {
    const [x, y] = [thing.point[dims[0]], thing.point[dims[1]] ?? 0];
    return typeof x === "number" && typeof y === "number" ? [x, y] : null;
  }
  return null;
}

export const dimensionsOf = (row) => (Array.isArray(row?.point) ? row.point.length : 2);

// How long a publication stays live, in microseconds; Infinity where no time ends it.
export function windowLength(window) {
  const found = typeof window === "string" && /^([\d.]+)\s*([a-z]+)$/.exec(window);
  return found && UNITS[found[2]] ? Number(found[1]) * UNITS[found[2]] : Infinity;
}

export const isOnEarth = (stream) => stream?.bounds === "geographic";

export function boundsOf(stream, places) {
  if (isOnEarth(stream)) return [-180, -62, 180, 78];
  if (Array.isArray(stream?.bounds)) return stream.bounds;
  if (!places.length) return [0, 0, 1, 1];
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
  const low = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  return [low(xs), low(ys), high(xs), high(ys)];
}
