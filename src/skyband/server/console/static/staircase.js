// The influence region of an object: the intervals [l, r] among whose k lowest objects it is, as the ranges paper has it.
//
// An object at x concerns the intervals with l ≤ x ≤ r. Lower objects that lie within one of them as well push it down by a
// place each, so that the region is bounded by the k nearest lower objects to the west and the k nearest to the east: a
// staircase, made of tiles whose level is the rank that the object has there.

// Equal heights: the larger id first, as everywhere.
export const isLower = (one, other) => one.y < other.y || (one.y === other.y && one.id > other.id);

// The nearest lower objects on both sides, nearest first; those at the same place count as west of it.
export function lowerNeighbours(object, objects, k) {
  const lower = objects.filter((one) => one.id !== object.id && isLower(one, object));
  const west = lower.filter((one) => one.x <= object.x).sort((a, b) => b.x - a.x).slice(0, k);
  const east = lower.filter((one) => one.x > object.x).sort((a, b) => a.x - b.x).slice(0, k);
  return { west, east };
}

// Tiles with west < l ≤ l1 and r0 ≤ r < east, and the rank of the object in each; the outer ones may be without end.
export function tilesOf(object, objects, k) {
  const { west, east } = lowerNeighbours(object, objects, k);
  const found = [];
  for (let a = 0; a < k; a++) {
    const [l0, l1] = [west[a]?.x ?? -Infinity, a ? west[a - 1]?.x : object.x];
    if (l1 === undefined) break;
    for (let b = 0; a + b < k; b++) {
      const [r0, r1] = [b ? east[b - 1]?.x : object.x, east[b]?.x ?? Infinity];
      if (r0 === undefined) break;
      if (l0 < l1 && r0 < r1) found.push({ l0, l1, r0, r1, level: a + b + 1 });
    }
  }
  return found;
}

// The rank that the object has for an interval, or null where it is not among the k lowest.
export function rankFor(tiles, l, r) {
  return tiles.find((tile) => tile.l0 < l && l <= tile.l1 && tile.r0 <= r && r < tile.r1)?.level ?? null;
}

// The corners of the region, from its apex around by the west, as Lemma 2 lists them; sides without end are infinite.
export function outlineOf(object, objects, k) {
  const { west, east } = lowerNeighbours(object, objects, k);
  const l = (v) => west[v - 1]?.x ?? -Infinity;
  const r = (v) => east[v - 1]?.x ?? Infinity;
  const corners = [[object.x, object.x], [l(k), object.x]];
  for (let v = 1; v <= k; v++) corners.push([l(k - v + 1), r(v)], [v < k ? l(k - v) : object.x, r(v)]);
  return corners;
}
