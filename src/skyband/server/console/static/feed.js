// The one connection: everything that the screens show comes over it, and it resumes where it was broken off.

import { ask } from "./api.js";
import { known, touch, forgetStream } from "./store.js";
import { takeSnapshot, takeChanges, end } from "./tops.js";

const MOST_ROWS = 20000;
const MOST_ANSWERS = 200;
const MOST_ASKED = 5000;
const MOST_HISTORY = 300;
const QUIET_MS = 3500;
const WAITS = [300, 700, 1500, 3000, 5000];

let source = null;
let wanted = { stream: null, names: [] };
let lastId = "";
let failures = 0;
let timer = 0;
const asked = new Set();

export function listen(stream, names) {
  if (source && wanted.stream === stream && String(wanted.names) === String(names)) return;
  if (stream !== wanted.stream) {
    forgetStream();
    asked.clear();
  }
  known.stream = stream;
  wanted = { stream, names: [...names] };
  // Another choice of subscriptions begins with their tops: there is nothing to resume.
  lastId = "";
  known.tops = new Map([...known.tops].filter(([name]) => names.includes(name)));
  connect();
}

export function reconnect() {
  failures = 0;
  connect();
}

function connect() {
  clearTimeout(timer);
  source?.close();
  const query = new URLSearchParams();
  if (wanted.stream) query.set("stream", wanted.stream);
  for (const name of wanted.names) query.append("subscription", name);
  if (lastId) query.set("last_event_id", lastId);
  const mine = (source = new EventSource(`/v1/console/feed?${query}`));
  const hear = (kind, take) =>
    mine.addEventListener(kind, (event) => {
      if (mine !== source) return;
      if (event.lastEventId) lastId = event.lastEventId;
      failures = 0;
      known.phase = "live";
      known.reason = "";
      known.heardAt = performance.now();
      take(JSON.parse(event.data));
      touch();
    });
  for (const [kind, take] of Object.entries(TAKES)) hear(kind, take);
  mine.onerror = () => mine === source && lose("The connection was lost.");
}

function lose(reason) {
  source.close();
  known.phase = known.heardAt ? "lost" : "connecting";
  known.reason = known.reason || reason;
  touch();
  clearTimeout(timer);
  timer = setTimeout(again, WAITS[Math.min(failures++, WAITS.length - 1)]);
}

// An EventSource does not tell why it was refused: a request that can, is asked first.
async function again() {
  try {
    await ask("GET", wanted.stream ? `/v1/streams/${encodeURIComponent(wanted.stream)}` : "/v1/session");
  } catch (problem) {
    if (problem.status === 401) known.needsToken = true;
    if (problem.status === 404) wanted = { stream: null, names: [] };
    if (problem.status === 0) return lose(problem.message);
    known.reason = problem.message;
    touch();
    if (problem.status === 401 || problem.status === 403) return;
  }
  connect();
}

const TAKES = {
  vitals(vitals) {
    const before = known.vitals;
    known.vitals = vitals;
    if (vitals.streams.some((stream) => stream.damaged)) known.reason = "A stream is damaged.";
    remember(before, vitals);
  },
  beside(beside) {
    known.beside = beside;
  },
  snapshot({ step, tops }) {
    known.step = step;
    takeSnapshot(known, tops);
    fetchRows(tops.flatMap(({ top }) => top.map((entry) => String(entry.publication))));
  },
  ready({ step }) {
    known.step = step;
  },
  changes({ step, changes, ended }) {
    known.step = step;
    known.changes += changes.length;
    if (changes.length && "event" in changes[0]) takePushed(changes);
    else takeChanges(known, changes, performance.now());
    if (ended) end(known, ended);
    fetchRows(changes.filter((row) => row.op === "enter").map((row) => String(row.publication)));
  },
  reset() {
    known.tops = new Map();
    known.left = new Map();
  },
  closing({ detail, resumable }) {
    known.reason = detail;
    if (!resumable) lastId = "";
    lose(detail);
  },
  published({ rows, backlog }) {
    const now = performance.now();
    for (const row of rows) takeRow(row, backlog ? 0 : now);
    if (known.arrivals.length > MOST_ROWS) known.arrivals.splice(0, known.arrivals.length - MOST_ROWS);
    forgetFirst(known.rows, MOST_ROWS);
    forgetFirst(known.objects, MOST_ROWS);
  },
};

function takePushed(changes) {
  for (const row of changes) {
    const id = String(row.event);
    if (!known.answers.has(id)) known.answers.set(id, []);
    known.answers.get(id).push(row);
  }
  forgetFirst(known.answers, MOST_ANSWERS);
}

function takeRow(row, at) {
  const id = String(row.object ?? row.id);
  const had = known.rows.has(id);
  known.rows.set(id, row);
  if (row.object !== undefined) takeObject(id, row, at);
  if (!had || row.object !== undefined) known.arrivals.push({ id, row, at, number: (known.arrivals.at(-1)?.number ?? 0) + 1 });
}

function takeObject(id, row, at) {
  const before = known.objects.get(id)?.row;
  known.turn += 1;
  if (row.y === null || row.y === undefined) known.objects.delete(id);
  else known.objects.set(id, { row, at, from: before, turn: known.turn });
}

function forgetFirst(held, most) {
  for (const key of held.keys()) {
    if (held.size <= most) break;
    held.delete(key);
  }
}

function remember(before, now) {
  const seconds = before ? now.at - before.at : 0;
  if (seconds <= 0) return;
  const sum = (vitals, name) => vitals.streams.reduce((total, stream) => total + stream[name], 0);
  const steps = (vitals) => vitals.engine?.counters ?? {};
  const changed = (vitals) => (steps(vitals).enter || 0) + (steps(vitals).leave || 0) + (steps(vitals).move || 0);
  const same = before.engine?.stream === now.engine?.stream && before.up < now.up;
  known.history.push({
    at: now.at,
    published: Math.max(0, (sum(now, "published") - sum(before, "published")) / seconds),
    changed: same ? Math.max(0, (changed(now) - changed(before)) / seconds) : null,
    waiting: now.waiting,
    connections: now.connections,
    memory: Object.values(now.engine?.memory ?? {}).reduce((total, n) => total + n, 0),
  });
  if (known.history.length > MOST_HISTORY) known.history.shift();
}

// Rows of publications that came before this page did; those that are on their way are waited for first.
export async function fetchRows(ids) {
  const stream = wanted.stream;
  await new Promise((done) => setTimeout(done, 400));
  const missing = ids.filter((id) => !known.rows.has(id) && !asked.has(id)).slice(0, 200);
  if (!missing.length || stream !== wanted.stream) return;
  if (asked.size > MOST_ASKED) asked.clear();
  for (const id of missing) asked.add(id);
  const query = new URLSearchParams(missing.map((id) => ["id", id]));
  try {
    const { rows } = await ask("GET", `/v1/console/streams/${encodeURIComponent(stream)}/publications?${query}`);
    for (const row of rows) known.rows.set(String(row.object ?? row.id), row);
    touch();
  } catch {
    // They are shown by their ids.
  }
}

export const isFresh = () => known.phase === "live" && performance.now() - known.heardAt < QUIET_MS;

// A connection over which nothing comes is as lost as one that was closed; so is one that slept with its machine.
setInterval(() => {
  if (known.phase === "live" && !isFresh()) lose("Nothing has been heard for some seconds.");
}, 1000);
addEventListener("online", reconnect);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isFresh() && known.heardAt) reconnect();
});
