/**
 * Skyband for browsers: a server's streams in one file without dependencies.
 *
 *   import { Skyband, StandingTops } from "/static/skyband.js";
 *   const skyband = new Skyband("", { token });
 *   const tops = new StandingTops();
 *   for await (const event of skyband.follow("taxis", { ids: ["ann"], mode: "latest", rate: 10 })) {
 *     tops.take(event);
 *     if (event.type !== "snapshot") show(tops.of("ann"));
 *   }
 *
 * Ids that are integers beyond 2^53 lose digits in JavaScript: use texts.
 */

const ATTEMPTS = 5;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 30_000;
// A server sends a sign of life every 15 seconds unless it was configured otherwise.
const SILENT = 60_000;
// The server is too busy, or is being started; what stands between has lost it.
const PASSING = [429, 502, 503, 504];

/** What the server answered instead of doing what it was asked. */
export class ServerProblem extends Error {
  /** @param {number} status @param {string} kind @param {string} detail @param {object[]} rejects */
  constructor(status, kind, detail, rejects = []) {
    super(detail);
    this.name = "ServerProblem";
    this.status = status;
    this.kind = kind;
    this.rejects = rejects;
  }
}

/** The server did not answer, or the connection was lost. */
export class Unreachable extends Error {
  constructor(cause) {
    super("The server cannot be reached.", { cause });
    this.name = "Unreachable";
  }
}

/** A stream of events has ended for good, with the reason that the server gave. */
export class StreamOver extends Error {
  constructor(detail) {
    super(detail);
    this.name = "StreamOver";
  }
}

/** A server, as one tenant of it sees it. */
export class Skyband {
  /**
   * @param {string} address of the server, or "" for the one that the page is from
   * @param {{token?: string}} options
   */
  constructor(address = "", { token } = {}) {
    this.address = address.replace(/\/$/, "");
    this.headers = token ? { authorization: `Bearer ${token}` } : {};
  }

  streams() {
    return this.#pages("/v1/streams", "streams");
  }

  stream(name) {
    return this.send("GET", path(name));
  }

  openStream(name, family, more = {}) {
    return this.send("POST", "/v1/streams", { name, family, ...more });
  }

  dropStream(name) {
    return this.send("DELETE", path(name));
  }

  /** Publish rows in batches, each of which is taken whole or not at all, and once. */
  publish(stream, rows, { batchRows = 1000 } = {}) {
    return this.#batches(path(stream, "publications"), rows, batchRows);
  }

  /** Withdraw publications; those that are no longer there are passed over. */
  retract(stream, ids) {
    return this.send("DELETE", path(stream, "publications"), undefined, { id: ids });
  }

  /** Let time pass without a publication. */
  advance(stream, now) {
    return this.send("POST", path(stream, "time"), { now });
  }

  /** Register subscriptions, for a time such as "10m" or for ever. */
  subscribe(stream, rows, { ttl, batchRows = 1000 } = {}) {
    return this.#batches(path(stream, "subscriptions"), rows, batchRows, { ttl });
  }

  /** Register one subscription, in place of the one with its id if there is one. */
  put(stream, row, { ttl } = {}) {
    return this.send("PUT", path(stream, "subscriptions", row.id), row, { ttl });
  }

  resize(stream, id, k) {
    return this.send("PATCH", path(stream, "subscriptions", id), { k });
  }

  unsubscribe(stream, id) {
    return this.send("DELETE", path(stream, "subscriptions", id));
  }

  subscriptions(stream) {
    return this.#pages(path(stream, "subscriptions"), "subscriptions");
  }

  /** The top of a subscription now, best first. */
  async top(stream, id) {
    return (await this.send("GET", path(stream, "subscriptions", id, "top"))).top;
  }

  /** The tops that subscriptions would have now, by id; nothing is registered. */
  async preview(stream, rows) {
    const { tops } = await this.send("POST", path(stream, "subscriptions", "preview"), asRows(rows));
    return new Map(tops.map(({ subscription, top }) => [subscription, top]));
  }

  /** Why a publication is in the top of a subscription, or why not and by how much; `text` says it in sentences. */
  explain(stream, subscription, publication) {
    return this.send("GET", path(stream, "explain"), undefined, { subscription, publication });
  }

  /** Any other call: a value of JSON to an address of the server, and what is answered. */
  async send(method, where, value, query = {}, key) {
    const url = this.address + where + asQuery(query);
    const headers = { ...this.headers };
    if (value !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers["idempotency-key"] = key;
    const repeatable = key !== undefined || method === "GET" || method === "PUT";
    for (let n = 0; ; n++) {
      let answer;
      try {
        answer = await fetch(url, { method, headers, body: value === undefined ? undefined : JSON.stringify(value) });
      } catch (error) {
        if (!repeatable || n === ATTEMPTS - 1) throw new Unreachable(error);
      }
      if (answer !== undefined && (!PASSING.includes(answer.status) || n === ATTEMPTS - 1)) return read(answer);
      await pause(Math.max(backoff(n), wished(answer)));
    }
  }

  /**
   * The events of some subscriptions, or of all, across lost connections.
   *
   * Each has a `type`: snapshot, ready, changes, reset or closing, the data that the server sent, and `last`, an id to
   * go on from. It waits for the server where it cannot be reached, and ends when the signal is aborted.
   *
   * @param {string} stream
   * @param {{ids?: (string|number)[], mode?: "every"|"latest", rate?: number, last?: string, signal?: AbortSignal}} options
   */
  async *follow(stream, { ids = [], mode = "every", rate, last, signal } = {}) {
    const url = this.address + path(stream, "events") + asQuery({ subscription: ids, mode, rate });
    let failures = 0;
    let halfway = false;
    while (!signal?.aborted) {
      let wait = 0;
      const connection = new Connection(url, this.headers, last, signal);
      try {
        const answer = await connection.open();
        if (answer.status !== 200) {
          if (!PASSING.includes(answer.status)) await read(answer);
          wait = wished(answer);
        } else {
          if (halfway && last === undefined) {
            yield { type: "reset", reason: "The connection was lost before all tops were told.", last };
          }
          halfway = false;
          for await (const { event, data, id } of connection.events()) {
            last = id ?? last;
            if (event === undefined) continue;
            failures = 0;
            if (event === "snapshot" || event === "ready") halfway = event === "snapshot";
            yield { type: event, ...data, last };
            if (event === "closing" && !data.resumable) throw new StreamOver(data.detail);
          }
        }
      } catch (error) {
        if (error instanceof ServerProblem || error instanceof StreamOver) throw error;
        if (!connection.lost(error)) throw error;
      } finally {
        connection.close();
      }
      await pause(Math.max(backoff(failures++), wait), signal);
    }
  }

  /** Have a function called with each event; the answer is a function that ends it. */
  listen(stream, heard, { failed = (error) => console.error(error), ...options } = {}) {
    const ending = new AbortController();
    const run = async () => {
      for await (const event of this.follow(stream, { ...options, signal: ending.signal })) heard(event);
    };
    run().catch(failed);
    return () => ending.abort();
  }

  async #pages(where, noun) {
    const found = [];
    let after;
    do {
      const page = await this.send("GET", where, undefined, { limit: 1000, after });
      found.push(...page[noun]);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return found;
  }

  async #batches(where, rows, batchRows, query = {}) {
    const all = asRows(rows);
    const done = { step: null, rows: 0, late: 0, changes: 0 };
    for (let start = 0; start < all.length; start += batchRows) {
      const batch = all.slice(start, start + batchRows);
      const told = await this.send("POST", where, batch, query, newKey());
      done.step = told.step;
      done.rows += told.published ?? told.subscribed ?? 0;
      done.late += told.late ?? 0;
      done.changes += told.changes ?? 0;
    }
    return done;
  }
}

/**
 * Tops kept from events alone: after each event they are the tops that the server has.
 *
 * Where a stream was opened with the granularity "publication", ranks are those after each row, which has to be known.
 */
export class StandingTops {
  #tops = new Map();

  constructor({ granularity = "batch" } = {}) {
    this.granularity = granularity;
  }

  /** The subscriptions that events have told of. */
  ids() {
    return [...this.#tops.keys()];
  }

  /** The top of a subscription, best first. */
  of(id) {
    return (this.#tops.get(id) ?? []).map(({ publication, score }, i) => ({ rank: i + 1, publication, score }));
  }

  /** Take in an event. */
  take(event) {
    if (event.type === "reset") this.#tops.clear();
    if (event.type === "snapshot") {
      for (const { subscription, top } of event.tops) this.#tops.set(subscription, top.slice());
    }
    if (event.type !== "changes") return;
    const byRow = this.granularity === "publication" && !event.net;
    for (const part of parts(event.changes, byRow)) this.#apply(part);
    for (const id of event.ended ?? []) {
      // One that was registered again in the same step has a top.
      if (!this.#tops.get(id)?.length) this.#tops.delete(id);
    }
  }

  #apply(part) {
    const changed = new Set(part.map((row) => row.publication));
    const id = part[0].subscription;
    const held = (this.#tops.get(id) ?? []).filter((row) => !changed.has(row.publication));
    for (const row of part) if (row.op !== "leave") held.splice(row.rank - 1, 0, row);
    this.#tops.set(id, held);
  }
}

/** The rows of each subscription, or each row, where ranks are those after each of them. */
function* parts(rows, byRow) {
  let part = [];
  for (const row of rows) {
    if (part.length && (byRow || row.subscription !== part[0].subscription)) {
      yield part;
      part = [];
    }
    part.push(row);
  }
  if (part.length) yield part;
}

/** One connection over which events come; one on which nothing comes for long is given up. */
class Connection {
  constructor(url, headers, last, signal) {
    this.url = url;
    this.headers = { ...headers, accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) };
    this.ending = new AbortController();
    this.signal = signal;
    this.opened = false;
    this.stop = () => this.ending.abort();
    signal?.addEventListener("abort", this.stop);
  }

  async open() {
    this.#watch();
    this.answer = await fetch(this.url, { headers: this.headers, signal: this.ending.signal, cache: "no-store" });
    return this.answer;
  }

  async *events() {
    const decoder = new TextDecoder();
    const reader = this.answer.body.getReader();
    let rest = "";
    let fields = {};
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.#watch();
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if ("data" in fields || "id" in fields) {
            const known = "data" in fields ? { event: fields.event, data: JSON.parse(fields.data) } : {};
            yield { ...known, id: fields.id };
          }
          fields = {};
          continue;
        }
        const [, name, text] = /^([^:]*):? ?(.*)$/.exec(line);
        fields[name] = text;
      }
    }
  }

  /** Whether an error means no more than that the connection is lost. */
  lost(error) {
    return error?.name === "AbortError" || error instanceof TypeError;
  }

  close() {
    clearTimeout(this.timer);
    this.signal?.removeEventListener("abort", this.stop);
    this.ending.abort();
  }

  #watch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.stop, SILENT);
  }
}

async function read(answer) {
  const text = await answer.text();
  let told;
  try {
    told = text ? JSON.parse(text) : null;
  } catch {
    told = undefined;
  }
  if (answer.ok && told !== undefined) return told;
  if (told?.detail === undefined) {
    throw new ServerProblem(answer.status, "http", `The answer has status ${answer.status} and is not one of Skyband's.`);
  }
  throw new ServerProblem(answer.status, told.type.split(":").pop(), told.detail, told.rejects);
}

function path(...words) {
  return "/v1/streams/" + words.map(encodeURIComponent).join("/");
}

function asQuery(given) {
  const pairs = Object.entries(given).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
  const text = new URLSearchParams(pairs.filter(([, value]) => value !== undefined && value !== null)).toString();
  return text && `?${text}`;
}

function asRows(rows) {
  return Array.isArray(rows) ? rows : [rows];
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function backoff(n) {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(n, 16)) * (0.5 + Math.random() / 2);
}

function wished(answer) {
  const seconds = Number(answer?.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) ? Math.min(1000 * seconds, LONGEST_PAUSE) : 0;
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    return undefined;
  });
}
