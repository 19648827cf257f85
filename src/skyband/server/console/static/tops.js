// Tops as the running sum of changes: leaves and moves are taken out, then moves and enters put in by rank.

const MOST_LEFT = 6;
const MOST_STORY = 200;

export function takeSnapshot(known, tops) {
  for (const { subscription, top } of tops) known.tops.set(String(subscription), top.map(entryOf));
}

const entryOf = (row) => ({ id: String(row.publication), score: row.score, since: 0, moved: 0 });

export function takeChanges(known, rows, now) {
  const bySubscription = new Map();
  for (const row of rows) {
    const name = String(row.subscription);
    if (!bySubscription.has(name)) bySubscription.set(name, []);
    bySubscription.get(name).push(row);
  }
  for (const [name, its] of bySubscription) takeFor(known, name, its, now);
  const told = rows.map((row, i) => ({ name: String(row.subscription), id: String(row.publication), op: row.op, rank: row.rank, score: row.score, at: Date.now(), number: (known.story.at(-1)?.number ?? 0) + 1 + i }));
  known.story = [...known.story, ...told].slice(-MOST_STORY);
}

function takeFor(known, name, rows, now) {
  const top = [...(known.tops.get(name) || [])];
  const left = [...(known.left.get(name) || [])];
  const before = new Map(top.map((entry) => [entry.id, entry]));
  for (const row of rows) {
    const id = String(row.publication);
    const at = top.findIndex((entry) => entry.id === id);
    if (at >= 0) top.splice(at, 1);
    if (row.op === "leave" && before.has(id)) left.unshift({ id, score: row.score, at: now });
  }
  const placed = rows.filter((row) => row.op !== "leave").sort((one, other) => one.rank - other.rank);
  for (const row of placed) {
    const id = String(row.publication);
    const was = before.get(id);
    const entry = { id, score: row.score, since: was ? was.since : now, moved: was ? now : 0 };
    top.splice(row.rank - 1, 0, entry);
  }
  const inTop = new Set(top.map((entry) => entry.id));
  known.tops.set(name, top);
  known.left.set(name, left.filter((entry) => !inTop.has(entry.id)).slice(0, MOST_LEFT));
}

export function end(known, names) {
  for (const name of names) {
    known.tops.delete(String(name));
    known.left.delete(String(name));
  }
}
