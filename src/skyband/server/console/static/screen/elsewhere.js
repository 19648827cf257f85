// Pipelines and overlays run beside this server: what to do to see them.

import { html } from "../preact.js";
import { Empty, Screen } from "../parts.js";

export const Pipeline = () => html`<${Screen} title="Pipeline" about="State, lag, zones and dead letters of a pipeline on Spark.">
  <${Empty} title="This server runs no pipeline" code=${"skyband pipeline run pipeline.yaml\nskyband pipeline status pipeline.yaml"}>
    A pipeline has its own state folder, and tells of its state, its lag, its zones and its dead letters from there:<//><//>`;

export const Overlay = () => html`<${Screen} title="Overlay" about="Brokers and links by traffic.">
  <${Empty} title="This server belongs to no overlay" code="skyband overlay simulate covering --seeds 3">
    An overlay joins brokers to a network that routes publications to those who want them. To see one at work without a network:<//><//>`;
