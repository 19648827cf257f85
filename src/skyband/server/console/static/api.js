// Requests to the API: answers as values, and problems as errors that carry what the server says of them.

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `The server answered ${status}.`);
    this.status = status;
    this.rejects = document.rejects || [];
  }
}

export async function ask(method, path, body, headers = {}) {
  const sent = { method, headers: { ...headers } };
  if (body !== undefined) {
    sent.headers["content-type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Problem(0, { detail: "The server does not answer." });
  }
  const text = await answer.text();
  const value = (answer.headers.get("content-type") || "").includes("json") && text ? JSON.parse(text) : text;
  if (!answer.ok) throw new Problem(answer.status, typeof value === "object" ? value : {});
  return value;
}

export const streamPath = (stream, ...parts) =>
  ["/v1/streams", stream, ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");
