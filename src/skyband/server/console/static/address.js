// State in the address: `#/tops?stream=city&show=ann,bob` says which screen is seen, and of what.

export function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { screen: path || "overview", query: new URLSearchParams(query || "") };
}

export function writeAddress(screen, query, replaces = false) {
  const text = query.toString();
  const hash = `#/${screen}${text ? `?${text}` : ""}`;
  if (hash === location.hash) return;
  if (replaces) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// Change some of what the address says; null takes a word out of it.
export function setWords(words, replaces = true) {
  const { screen, query } = readAddress();
  for (const [name, value] of Object.entries(words)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  writeAddress(screen, query, replaces);
}

export function shownNames(query) {
  return query.getAll("show").flatMap((text) => text.split(",")).filter(Boolean).map(decodeURIComponent);
}

export function setShown(names) {
  setWords({ show: names.map(encodeURIComponent).join(",") });
}
