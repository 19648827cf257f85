"""Why one box covers another, or why not: side by side, and by how much a side sticks out.

Covering has no publications and no tops, so it has no `Explainer`; its cover set answers by itself.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from skyband.contract.explanation import Condition
from skyband.contract.tops import Id
from skyband.kernels.array import Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverExplanation:
    """Whether the box of a subscription lies within that of another one, which then covers it.

    `covered_by` is the member that the subscription hangs below, None if it is uncovered: with several that cover it,
    any of them.
    """

    subscription: Id
    other: Id
    covers: bool
    covered_by: Id | None
    conditions: tuple[Condition, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it as mappings and lists of plain values."""
        plain = {name: getattr(self, name) for name in ("subscription", "other", "covers", "covered_by")}
        return plain | {"conditions": [one._asdict() for one in self.conditions], "text": self.text}

    @property
    def text(self) -> str:
        """All of it in sentences, one in a line."""
        verb = "covers" if self.covers else "does not cover"
        lines = [f"The subscription {self.other!r} {verb} the subscription {self.subscription!r}."]
        lines += [_sticks_out(one) for one in self.conditions if not one.met]
        above = "uncovered" if self.covered_by is None else f"below {self.covered_by!r}"
        return "\n".join([*lines, f"In the cover set {self.subscription!r} is {above}."])


def sides(own: Floats, other: Floats) -> tuple[Condition, ...]:
    """Each side of a box against that of another one; both are points with the negative lower ends in even places."""
    both = zip(own.tolist(), other.tolist(), strict=True)
    return tuple(_side(f"{('lo', 'hi')[i % 2]}[{i // 2}]", i % 2 == 0, *ends) for i, ends in enumerate(both))


def _side(name: str, is_lower: bool, own: float, other: float) -> Condition:
    met = own <= other
    by = 0.0 if met else own - other
    value, end = (0.0 - own, 0.0 - other) if is_lower else (own, other)
    limit = end if isfinite(end) else None
    low, high = (limit, None) if is_lower else (None, limit)
    return Condition(name, met, value if isfinite(value) else None, low, high, by if isfinite(by) else None)


def _sticks_out(side: Condition) -> str:
    end = side.low if side.high is None else side.high
    if side.value is None or side.outside_by is None:
        return f"The side {side.name} is open, and that of the other is {end}."
    return f"The side {side.name} is {side.value}, and that of the other is {end}: it sticks out by {side.outside_by}."
