// A view as a request that anybody can send: with curl, or with Python alone.

import { known } from "./store.js";

// A server without tokens refuses an empty one.
const needsToken = () => Boolean(known.session?.token);

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl({ method = "GET", path, body, streams }) {
  const parts = [streams ? "curl -N" : "curl"];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (needsToken()) parts.push(`-H "Authorization: Bearer $SKYBAND_TOKEN"`);
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`);
  parts.push(quoted(location.origin + path));
  return parts.join(" \\\n  ");
}

export function asPython({ method = "GET", path, body, streams }) {
  const data = body === undefined ? "" : `\n    data=json.dumps(json.loads(${pythonText(JSON.stringify(body))})).encode(),`;
  const headers = [
    ...(needsToken() ? [`"Authorization": "Bearer " + os.environ["SKYBAND_TOKEN"]`] : []),
    ...(body === undefined ? [] : [`"Content-Type": "application/json"`]),
  ];
  const read = streams ? "    for line in answer:\n        print(line.decode(), end=\"\")" : "    print(json.load(answer))";
  return `import json
import os
import urllib.request

request = urllib.request.Request(
    ${pythonText(location.origin + path)},
    method="${method}",${data}
    headers={${headers.join(", ")}},
)
with urllib.request.urlopen(request) as answer:
${read}
`;
}

// A text as Python writes it: JSON does the same but for what lies beyond the basic plane, which Python reads as well.
const pythonText = (text) => JSON.stringify(text);

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Without HTTPS a browser gives pages of other machines no clipboard.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
