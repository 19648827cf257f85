"""What a watcher sees at an instant: the clock, the latest messages, three tops, and the rates."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.demo.day import N_MINUTES, OPENS, clock, happening
from skyband.demo.ledger import DayLedger
from skyband.demo.runner import PipelineTraffic
from skyband.demo.scene import STEP, Scene
from skyband.demo.subscriber import ROLES, titles
from skyband.demo.topic import TOPICS
from skyband.table import Op

LATEST = 40
# For how many steps a newcomer stays marked, and a leaver visible.
FRESH = 4
PER_HOUR = 60 // STEP


class Line(NamedTuple):
    """A message on the screen."""

    clock: str
    text: str
    colour: str


class TopEntry(NamedTuple):
    """A member of a top on the screen; `new` is 1 as it enters and falls to 0."""

    line: Line
    score: float
    new: float


class Card(NamedTuple):
    """A shown subscriber: who, what they follow, their top, and who has just left it."""

    title: str
    words: tuple[str, ...]
    colour: str
    top: tuple[TopEntry, ...]
    left: tuple[Line, ...]


class Rates(NamedTuple):
    """How much so far, and how fast per second that the engine or the pipeline took."""

    messages: int
    scores: int
    changes: int
    deliveries: int
    seconds: float

    def per_second(self, amount: int) -> float:
        """An amount as a rate."""
        return amount / self.seconds if self.seconds > 0.0 else 0.0


class Frame(NamedTuple):
    """One picture of the running day."""

    city: str
    minute: int
    happening: str
    latest: tuple[Line, ...]
    cards: tuple[Card, ...]
    rates: Rates
    by_hour: tuple[int, ...]
    traffic: PipelineTraffic | None


class Camera:
    """Follows the shown subscribers through the changes, and takes a frame when asked."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._titles = titles(scene.city)
        self._scores: list[dict[int, float]] = [{} for _ in ROLES]
        self._entered: list[dict[int, int]] = [{} for _ in ROLES]
        self._left: list[dict[int, int]] = [{} for _ in ROLES]

    def follow(self, changes: pa.Table, step: int) -> None:
        """Note who has entered and left the shown tops."""
        shown = changes.filter(pc.less(changes["subscription"], len(ROLES)))
        for row in shown.select(["subscription", "publication", "op", "score"]).to_pylist():
            who, publication = row["subscription"], row["publication"]
            into, out_of = self._entered[who], self._left[who]
            if row["op"] == Op.LEAVE:
                into, out_of = out_of, into
                del self._scores[who][publication]
            else:
                self._scores[who][publication] = row["score"]
            out_of.pop(publication, None)
            into[publication] = step

    def take(self, ledger: DayLedger, minute: int, n_messages: int) -> Frame:
        """The frame of this minute, when `n_messages` have been published."""
        newest = range(n_messages - 1, max(n_messages - LATEST, 0) - 1, -1)
        return Frame(
            self._scene.city.name,
            minute,
            happening(self._scene.events, minute),
            tuple(self.line(number) for number in newest),
            self.cards(ledger.n_steps),
            rates(ledger),
            by_hour(ledger),
            ledger.traffic,
        )

    def line(self, number: int) -> Line:
        """A message by its number."""
        messages = self._scene.messages
        colour = TOPICS[int(messages.topics[number])].colour
        return Line(clock(messages.minute(number)), messages.texts[number], colour)

    def cards(self, step: int) -> tuple[Card, ...]:
        """The shown subscribers with their tops, which are the sum of the changes."""
        return tuple(self._card(who, step) for who in range(len(ROLES)))

    def top(self, who: int) -> list[tuple[int, float]]:
        """The messages in the top of a shown subscriber with their scores, best first."""
        # Messages are numbered in order of time: among equals the larger number is the more recent.
        return sorted(self._scores[who].items(), key=lambda member: (-member[1], -member[0]))

    def _card(self, who: int, step: int) -> Card:
        entered, left = self._entered[who], self._left[who]
        top = []
        for number, score in self.top(who):
            age = step - entered[number]
            top.append(TopEntry(self.line(number), score, max(0.0, 1.0 - age / FRESH)))
        gone = sorted((-at, -number) for number, at in left.items() if step - at < FRESH)
        role = ROLES[who]
        lines = tuple(self.line(-number) for _, number in gone[:2])
        return Card(self._titles[who], role.words, role.colour, tuple(top), lines)


def rates(ledger: DayLedger) -> Rates:
    """The rates so far; only the time that steps took counts, so that the pace of the show does not matter."""
    counters, tally = ledger.counters, ledger.tally
    n_changes = int(tally.enters.sum() + tally.leaves.sum())
    return Rates(
        int(tally.messages.sum()),
        counters.get("scored", 0),
        n_changes,
        counters.get("delivery", 0),
        float(tally.seconds.sum()),
    )


def by_hour(ledger: DayLedger) -> tuple[int, ...]:
    """Messages in each hour of the day so far."""
    return tuple(np.add.reduceat(ledger.tally.messages, np.arange(0, N_MINUTES // STEP, PER_HOUR)).tolist())


def first_hour() -> int:
    """The hour the day begins at."""
    return OPENS // 60
