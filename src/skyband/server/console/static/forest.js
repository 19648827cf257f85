// A forest from what each member hangs below, and where its members are drawn: a line for each, and its depth across.

export function forestOf(members) {
  const nodes = new Map(members.map((one) => [one.id, { ...one, children: [], n: 1, depth: 0 }]));
  const roots = [];
  for (const node of nodes.values()) {
    const above = nodes.get(node.covered_by);
    if (above) above.children.push(node);
    else roots.push(node);
  }
  for (const root of roots) measure(root);
  roots.sort((one, other) => other.n - one.n || (one.id < other.id ? -1 : 1));
  return { nodes, roots };
}

// How many each has below it, with itself, and how deep it lies; those with most come first.
function measure(root) {
  const order = [root];
  for (const node of order) for (const child of node.children) order.push(Object.assign(child, { depth: node.depth + 1 }));
  for (const node of order.reverse()) {
    node.n = 1 + node.children.reduce((sum, child) => sum + child.n, 0);
    node.children.sort((one, other) => other.n - one.n || (one.id < other.id ? -1 : 1));
  }
}

// Members with their lines and depths, from the top down, and the links to what they hang below.
export function placed(roots) {
  const [found, links] = [[], []];
  const walk = (node, above) => {
    const place = { node, line: found.length };
    found.push(place);
    if (above) links.push({ from: above, to: place });
    for (const child of node.children) walk(child, place);
  };
  for (const root of roots) walk(root, null);
  return { found, links };
}

export const depthOf = (node) => node.children.reduce((most, child) => Math.max(most, 1 + depthOf(child)), 0);
