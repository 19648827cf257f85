// The coast lines of the world, unpacked once from the arcs in which they are kept.

let wanted = null;

export function coast() {
  wanted ??= fetch("/console/vendor/land.json").then((answer) => answer.json()).then(unpack);
  return wanted;
}

function unpack({ arcs, objects, transform }) {
  const lines = arcs.map((arc) => line(arc, transform));
  const shapes = objects.land.geometries.flatMap((shape) => (shape.type === "Polygon" ? [shape.arcs] : shape.arcs));
  return shapes.flatMap((rings) => rings.map((ring) => ring.flatMap((at) => (at < 0 ? [...lines[~at]].reverse() : lines[at]))));
}

// Each point is the step from the one before it, in whole units.
function line(arc, { scale, translate }) {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + translate[0], y * scale[1] + translate[1]];
  });
}
