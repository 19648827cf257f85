// Dark or light: what was chosen, or else what the system asks for.

import { useState, useEffect } from "./preact.js";

const asked = matchMedia("(prefers-color-scheme: light)");
const initial = () => localStorage.getItem("skyband-theme") || (asked.matches ? "light" : "dark");

export function nextTheme(theme) {
  const next = theme === "dark" ? "light" : "dark";
  localStorage.setItem("skyband-theme", next);
  return next;
}

document.documentElement.dataset.theme = initial();

export function useTheme() {
  const [theme, setTheme] = useState(initial);
  document.documentElement.dataset.theme = theme;
  useEffect(() => {
    const told = () => setTheme(initial());
    asked.addEventListener("change", told);
    return () => asked.removeEventListener("change", told);
  }, []);
  return [theme, setTheme];
}

export const wantsCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
