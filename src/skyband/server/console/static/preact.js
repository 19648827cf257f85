// The one place that names the vendored components.
export { html, render, useState, useEffect, useLayoutEffect, useRef, useMemo } from "/console/vendor/preact.js";
