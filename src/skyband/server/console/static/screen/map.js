// Map: what arrives, drawn as its family has it, and chosen subscribers with their tops.

import { html } from "../preact.js";
import { shownNames } from "../address.js";
import { Places } from "../family/places.js";
import { Ranges } from "../family/ranges.js";
import { Visitors } from "../family/visitors.js";
import { Empty, Screen } from "../parts.js";
import { known, theStream } from "../store.js";
import { Chooser, useSome, useSubscriptions } from "../subscribers.js";

const ABOUT = {
  places: "What arrives, where it lies, and the tops of whom you choose.",
  ranges: "Objects as they move, the intervals that are asked about, and whom an object concerns.",
  visitors: "Whom each visitor is shown, and what is left of the budgets.",
};

export function MapScreen({ query, theme }) {
  const stream = theStream();
  const names = shownNames(query);
  const { list, more } = useSubscriptions(known.stream);
  useSome(known.stream, names, list, stream?.stands ? 3 : 0);
  if (!stream)
    return html`<${Screen} title="Map" about=${ABOUT.places}>${known.vitals ? html`<${Empty} title="There is no stream yet">
      Open one first: the <a href="#/overview">overview</a> says how.<//>` : html`<p class="waiting">Asking what there is…</p>`}<//>`;
  const path = `/v1/console/feed?${new URLSearchParams([["stream", known.stream ?? ""], ...names.map((name) => ["subscription", name])])}`;
  const kind = !stream.stands ? "visitors" : stream.objects ? "ranges" : "places";
  const View = { places: Places, ranges: Ranges, visitors: Visitors }[kind];
  return html`<${Screen} title="Map" about=${ABOUT[kind]} request=${{ path, streams: true }}>
    <${Chooser} stream=${known.stream} names=${names} list=${list} more=${more} />
    <${View} stream=${stream} names=${names} list=${list} query=${query} theme=${theme} />
  <//>`;
}
