// Lists that are asked for, and asked for again after something was done to them.

import { useEffect, useState } from "./preact.js";
import { ask } from "./api.js";

export function useAsked(path) {
  const [told, setTold] = useState({ value: null, problem: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let wanted = true;
    if (!path) return undefined;
    ask("GET", path).then(
      (value) => wanted && setTold({ value, problem: null }),
      (problem) => wanted && setTold({ value: null, problem }),
    );
    return () => (wanted = false);
  }, [path, turn]);
  return { ...told, again: () => setTurn((n) => n + 1) };
}

// Do something, tell what went wrong, and look again.
export const doing = (act, again, setProblem) => async () => {
  try {
    await act();
    setProblem(null);
    again();
  } catch (problem) {
    setProblem(problem);
  }
};
