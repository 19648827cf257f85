"""Explanations: why a publication is in a top, or why not, and by how much it misses.

They say the same of every family, so that a reader need not know which one it is: what the score is made of, which
conditions are met, where the publication stands among all that compete, and what the engine itself keeps of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Literal, NamedTuple

from skyband.contract.handle import show_count
from skyband.contract.tops import Id

State = Literal["live", "expired", "retracted", "deleted", "unknown"]
"""What has become of a publication, as far as the engine remembers it."""

WORDS: dict[State, str] = {
    "live": "is live",
    "expired": "has expired",
    "retracted": "was retracted",
    "deleted": "was deleted",
    "unknown": "is not known: it was never published, came too late, or has been forgotten",
}


class ScorePart(NamedTuple):
    """One part of a score: a value, and what it contributes to the score; `weight` is None where nothing weighs it."""

    name: str
    value: float
    weight: float | None
    contribution: float


class Condition(NamedTuple):
    """Something that a publication has to meet: a value that lies between `low` and `high`, of which None is open.

    `outside_by` says by how much it does not, and is 0 where it does; None where that cannot be measured.
    """

    name: str
    met: bool
    value: float | None = None
    low: float | None = None
    high: float | None = None
    outside_by: float | None = None


class Bound(NamedTuple):
    """What the engine holds against a publication now.

    The engine keeps `n_kept` candidates for the subscription, and the publication is at `place` among them, from 1, or
    None if it is not kept. `limit` is the score that a publication must reach to be looked at, None where any does;
    `pruned` says that this one does not reach it, so that the engine need not look at it.
    """

    name: str
    n_kept: int
    place: int | None
    limit: float | None
    pruned: bool
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Why a publication is in the top of a subscription, or why not, at the time `now`.

    `rank` counts all publications that are live and match, so it may be larger than `k`; it is None for one that is
    not among them. `kth_score` is the score of the last place of the top, None while the top is not full. `missed_by`
    is the difference to it of a score that is not good enough, 0 where the scores are equal and the order decides.
    `n_ahead` is how many better ones stay at least as long: with `k` or more, time alone does not let it in.
    `noun` is the word for what is explained, and `rival` for what competes for places.
    """

    family: str
    subscription: Id
    publication: Id
    now: int | None
    state: State
    in_top: bool
    matches: bool | None = None
    rank: int | None = None
    n_competing: int = 0
    n_ahead: int | None = None
    k: int
    score: float | None = None
    kth_score: float | None = None
    missed_by: float | None = None
    ts: int | None = None
    expires_at: int | None = None
    parts: tuple[ScorePart, ...] = ()
    conditions: tuple[Condition, ...] = ()
    bound: Bound
    noun: str = "publication"
    rival: str = "publication"
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it as mappings and lists of plain values, as JSON has them; what is infinite is None."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["parts"] = [part._asdict() for part in self.parts]
        plain["conditions"] = [_finite(condition._asdict()) for condition in self.conditions]
        return plain | {"bound": self.bound._asdict(), "notes": list(self.notes), "text": self.text}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Explanation":
        """The explanation of which `as_dict` has made mappings and lists."""
        given = {field.name: plain[field.name] for field in fields(cls)}
        given["parts"] = tuple(ScorePart(**part) for part in plain["parts"])
        given["conditions"] = tuple(Condition(**condition) for condition in plain["conditions"])
        return cls(**given | {"bound": Bound(**plain["bound"]), "notes": tuple(plain["notes"])})

    @property
    def text(self) -> str:
        """All of it in sentences, one in a line."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield self._verdict()
        if self.state != "live":
            yield f"The {self.noun} {WORDS[self.state]}."
        for condition in self.conditions:
            if not condition.met:
                yield _failure(condition)
        yield from self.notes
        if self.rank is not None:
            yield self._standing(self.rank)
        if not self.in_top and self.n_ahead is not None and self.n_ahead >= self.k:
            yield f"Of those that are better, {self.n_ahead} stay at least as long: time alone does not let it in."
        yield self.bound.text

    def _verdict(self) -> str:
        where = "is in the top" if self.in_top else "is not in the top"
        return f"The {self.noun} {self.publication!r} {where} of the subscription {self.subscription!r}."

    def _standing(self, rank: int) -> str:
        many = f"{show_count(self.n_competing, self.rival)} {'competes' if self.n_competing == 1 else 'compete'}"
        standing = f"{many} for {show_count(self.k, 'place')}, and it ranks {rank} with the score {self.score}"
        if self.in_top:
            return f"{standing}."
        if self.missed_by is None:
            return f"{standing}; of these the most recent are in the top, whatever their scores."
        if self.missed_by == 0.0:
            return f"{standing}, which is also that of the last place: the order of equal scores decides."
        return f"{standing}; the last place has {self.kth_score}, so it misses by {self.missed_by}."


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value in (inf, -inf) else value for name, value in row.items()}


def _failure(condition: Condition) -> str:
    if condition.value is None:
        return f"It does not meet the condition: {condition.name}."
    low, high = condition.low, condition.high
    if low is None or high is None:
        span = f"at least {low}" if high is None else f"at most {high}"
    else:
        span = f"{low} to {high}"
    by = "" if condition.outside_by is None else f": it misses by {condition.outside_by}"
    return f"Its {condition.name} is {condition.value}, and the subscription asks for {span}{by}."
