"""Meters: counts, gauges and durations as Prometheus reads them."""

from bisect import bisect_left
from collections.abc import Iterable

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Meters:
    """What has been counted since the server was started, by name and labels."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], float] = {}
        self._durations: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}

    def count(self, name: str, n: float = 1, **labels: object) -> None:
        """Add to a counter."""
        key = (name, labelled(labels))
        self._counts[key] = self._counts.get(key, 0) + n

    def time(self, name: str, seconds: float, **labels: object) -> None:
        """Add a duration to a histogram."""
        key = (name, labelled(labels))
        self._durations.setdefault(key, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def lines(self) -> list[str]:
        """All of it as text."""
        found = _typed("counter", [(name, labels, n) for (name, labels), n in sorted(self._counts.items())])
        named = ""
        for (name, labels), buckets in sorted(self._durations.items()):
            if name != named:
                found.append(f"# TYPE {name} histogram")
                named = name
            total = 0
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                total += n
                inner = ",".join(filter(None, [labels, f'le="{bound}"']))
                found.append(f"{name}_bucket{{{inner}}} {total}")
            braced = f"{{{labels}}}" if labels else ""
            found += [f"{name}_sum{braced} {self._sums[name, labels]:.6f}", f"{name}_count{braced} {total}"]
        return found


def gauges(values: Iterable[tuple[str, str, float]]) -> list[str]:
    """Values as they are now: names, labels and numbers."""
    return _typed("gauge", values)


def labelled(labels: dict[str, object]) -> str:
    """Labels between the braces of a line."""
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in sorted(labels.items()))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _typed(kind: str, values: Iterable[tuple[str, str, float]]) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for name, labels, value in values:
        if name not in seen:
            seen.add(name)
            found.append(f"# TYPE {name} {kind}")
        found.append(f"{name}{{{labels}}} {value:g}" if labels else f"{name} {value:g}")
    return found
