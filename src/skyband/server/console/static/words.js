// Numbers, times and publications in words.

export const count = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));

export function rate(n) {
  if (n === null || n === undefined) return "–";
  return n >= 100 ? count(n) : n.toFixed(n >= 10 ? 0 : 1);
}

export function bytes(n) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (n < 1024) return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
  return `${n.toFixed(1)} GiB`;
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

export const dateTime = (us) => (us ? new Date(us / 1000).toLocaleString("en-GB") : "–");

export function score(x) {
  if (typeof x !== "number") return String(x ?? "–");
  const size = Math.abs(x);
  return size && (size < 0.001 || size >= 1e6) ? x.toExponential(2) : x.toFixed(size >= 100 ? 1 : 3);
}

// A place or an end of an interval: as many digits as it needs, five at most.
export const plain = (x) => (typeof x === "number" && Number.isFinite(x) ? String(Number(x.toPrecision(5))) : String(x ?? "–"));

const TITLES = ["title", "text", "name", "label"];

// What a person would call a publication: its text if it has one, its words, its place, or its id.
export function titleOf(row, id) {
  if (!row) return `#${id}`;
  for (const name of TITLES) if (typeof row[name] === "string" && row[name]) return row[name];
  if (Array.isArray(row.terms) && row.terms.length) return row.terms.join(" ");
  if (row.object !== undefined && typeof row.y === "number") return `${row.object}: ${plain(row.y)} at ${[row.x].flat().map(plain).join(", ")}`;
  if (row.object !== undefined) return `${row.object}: gone`;
  if (Array.isArray(row.point)) return `${typeof row.id === "string" ? `${row.id} ` : ""}(${row.point.map(plain).join(", ")})`;
  return `#${id}`;
}

export function asksFor(subscription) {
  if (!subscription) return "";
  const parts = [];
  if (subscription.terms?.length) parts.push(subscription.terms.join(", "));
  if (subscription.score) parts.push(subscription.score);
  if (subscription.point) parts.push(`near (${subscription.point.map(plain).join(", ")})`);
  else if (subscription.lo !== undefined && subscription.k) parts.push(`the lowest ${subscription.k} from ${[subscription.lo].flat().join(", ")} to ${[subscription.hi].flat().join(", ")}`);
  else if (typeof subscription.x === "number") parts.push(`near (${score(subscription.x)}, ${score(subscription.y)})`);
  return parts.join(" · ");
}
