// A line chart of the last minutes, drawn by uPlot when there is something new.

import uPlot from "/console/vendor/uplot.js";
import { html, useEffect, useRef } from "./preact.js";
import { rate } from "./words.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart({ title, history, series, theme, height = 150, show = rate }) {
  const place = useRef(null);
  const plot = useRef(null);
  const text = describe(title, history, series, show);
  useEffect(() => {
    const made = new uPlot(options(place.current.clientWidth, height, series, show), data(history, series), place.current);
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: place.current.clientWidth, height }));
    sizes.observe(place.current);
    return () => {
      sizes.disconnect();
      made.destroy();
    };
  }, [theme, series.map((one) => one.name).join()]);
  useEffect(() => plot.current?.setData(data(history, series)), [history.at(-1)?.at, history.length]);
  return html`<figure class="chart"><figcaption>${title}<span class="keys">${series.map(
      (one) => html`<span class="key"><i class="swatch ${one.colour}"></i>${one.label}</span>`)}</span></figcaption>
    <div ref=${place} role="img" aria-label=${text}></div></figure>`;
}

function describe(title, history, series, show) {
  const last = history.at(-1);
  return last ? `${title}: ${series.map((one) => `${one.label} ${show(last[one.name])}`).join(", ")}` : title;
}

const data = (history, series) => [
  history.map((entry) => entry.at),
  ...series.map((one) => history.map((entry) => entry[one.name])),
];

function options(width, height, series, show) {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [10, 8, 0, 0],
    scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(1, (high || 0) * 1.15)] } },
    axes: [
      { ...axis, size: 24, space: 90, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300], values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleTimeString("en-GB")) },
      { ...axis, size: 46, space: 32, values: (_, ticks) => ticks.map(show) },
    ],
    series: [
      {},
      ...series.map((one) => ({
        stroke: colour(`--${one.colour}`),
        fill: one.fills ? `color-mix(in srgb, ${colour(`--${one.colour}`)} 14%, transparent)` : undefined,
        width: 2,
        points: { show: false },
      })),
    ],
  };
}
