"""A contest: a peer and Skyband given the same rows, their answers compared, and then timed turn and turn about."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa

from bench.peers.answer import Answer, recall, require_same
from bench.peers.package import Unavailable, complaint
from bench.peers.peer import Peer
from bench.peers.work import WORKS, Course, PeerScale, Work
from skyband.bench.experiment import Experiment, Progress
from skyband.bench.row import Row, measured, number, skipped
from skyband.bench.runner import AT_ONCE, WrongAnswer, pieces, time_in_turn
from skyband.bench.view import ViewColumn, count_given, given
from skyband.contract import AnyEngine

OURS = "skyband"
MOST_ROUNDS = 9
# The first one warms up and is compared; another follows the last one that is timed, and is compared too.
N_UNTIMED = 2


class PeerPoint(NamedTuple):
    """A peer and how much it is measured with."""

    peer: type[Peer]
    scale: PeerScale
    threads: int


@dataclass
class Sides:
    """Skyband and a peer that have been given the same."""

    work: Work
    course: Course
    engine: AnyEngine
    peer: Peer
    turn: int = 0

    def enter(self) -> None:
        """Give both the live publications and the subscriptions, in the order that costs each of them less."""
        course = self.course
        live = course.publications.slice(0, course.n_live)
        for piece in pieces(live, 10_000):
            self.engine.publish(piece)
        for piece in pieces(course.subscriptions, AT_ONCE):
            self.engine.subscribe(piece)
        self.peer.subscribe(course.subscriptions)
        if course.n_live:
            self.peer.publish(self.peer.prepare(live))

    def compare(self) -> tuple[float, float]:
        """Publish a batch at both and compare; the seconds that the peer took, and its recall."""
        batch = self.course.batch_at(self.turn)
        ours = self.work.answer(self.engine, self.engine.publish(batch))
        prepared, start = self.peer.prepare(batch), time.perf_counter()
        self.peer.publish(prepared)
        spent = time.perf_counter() - start
        self.turn += 1
        return spent, self._found(ours, batch)

    def _found(self, ours: Answer, batch: pa.Table) -> float:
        expected, theirs = self.peer.expected(ours, batch), self.peer.top()
        if not self.peer.exact:
            return recall(theirs, expected)
        rescore = partial(self.work.rescore, self.course)
        oldest = self.turn * self.course.batch if self.course.n_live else 0
        require_same(theirs, expected, rescore, self.peer.tolerance, oldest, f"{self.work.name}, {self.peer.name}")
        return 1.0

    def race(self, n_rounds: int) -> dict[str, list[int]]:
        """The nanoseconds of each batch, in turns."""
        first, self.turn = self.turn, self.turn + n_rounds
        batches = [self.course.batch_at(turn) for turn in range(first, self.turn)]
        prepared = [self.peer.prepare(batch) for batch in batches]
        calls = {
            OURS: lambda turn: self.engine.publish(batches[turn]),
            self.peer.name: lambda turn: self.peer.publish(prepared[turn]),
        }
        return time_in_turn(calls, n_rounds, n_warm=0)


def measure(point: PeerPoint, progress: Progress) -> Iterator[Row]:
    """The rows of a peer at each number of subscriptions, or the reason why there are none."""
    peer, work = point.peer, WORKS[point.peer.work]
    label = f"{work.name}, {peer.name}"
    progress(f"{label}: its package")
    try:
        version = peer.package.fetch()
    except Unavailable as error:
        yield _skipped(point, "", point.scale.ns[0], f"Skipped: {error}")
        return
    seconds, n_before = 0.0, 0
    for n in point.scale.ns:
        expected = seconds * n / n_before if n_before else 0.0
        if expected > point.scale.patience:
            yield _skipped(point, version, n, f"Skipped: a batch would take about {expected:,.1f} s.")
            continue
        progress(f"{label}, {n:,} subscriptions")
        try:
            rows, seconds = _contest(point, work, version, n)
        except Unavailable as error:
            yield _skipped(point, version, n, f"Skipped: {error}")
            return
        except WrongAnswer as error:
            yield _skipped(point, version, n, f"Wrong: {error}")
            return
        except Exception as error:  # whatever another system raises, the other peers are to be measured
            yield _skipped(point, version, n, f"Failed: {type(error).__name__}: {complaint(str(error))}")
            return
        n_before = n
        yield from rows


def _contest(point: PeerPoint, work: Work, version: str, n: int) -> tuple[list[Row], float]:
    """Two rows, and the seconds that the peer took for a batch."""
    course = work.course(point.scale, n, MOST_ROUNDS + N_UNTIMED, point.threads)
    with work.open(course) as engine, contextlib.closing(point.peer(course)) as peer:
        sides = Sides(work, course, engine, peer)
        sides.enter()
        seconds, first = sides.compare()
        n_rounds = int(min(max(point.scale.patience / max(seconds, 1e-9), 1), MOST_ROUNDS))
        taken = sides.race(n_rounds)
        _, last = sides.compare()
    ours, theirs = (median(taken[name]) / 1e9 for name in (OURS, peer.name))
    parameters = _parameters(point, version, n)
    contest = f"{work.name}, {peer.name}, {n}"
    found = {"seconds": theirs, "ours": ours, "ratio": theirs / ours, "recall": (first + last) / 2.0}
    rows = [
        measured(contest, OURS, parameters, taken[OURS], course.batch, {"seconds": ours}),
        measured(contest, peer.name, parameters, taken[peer.name], course.batch, found),
    ]
    return rows, theirs


def _parameters(point: PeerPoint, version: str, n: int) -> dict[str, Any]:
    return {
        "work": point.peer.work,
        "peer": point.peer.name,
        "version": version,
        "n_subscriptions": n,
        "n_live": point.scale.n_live,
        "batch": point.scale.batch,
        "threads": point.threads,
        "lacks": point.peer.lacks,
    }


def _skipped(point: PeerPoint, version: str, n: int, reason: str) -> Row:
    contest = f"{point.peer.work}, {point.peer.name}, {n}"
    return skipped(contest, point.peer.name, _parameters(point, version, n), reason)


def _milliseconds(header: str, name: str) -> ViewColumn:
    return ViewColumn(header, lambda row, first: number(1e3 * row["measures"][name]))


def _answers(row: Row, first: Row) -> str:
    found = row["measures"]["recall"]
    return "the same" if found == 1.0 else f"{found:.2%} found"


VERSION, LACKS = given("version"), given("does not do", "lacks")
MILLISECONDS, OURS_MILLISECONDS = _milliseconds("ms", "seconds"), _milliseconds("ours, ms", "ours")
TIMES = ViewColumn("ratio", lambda row, first: number(row["measures"]["ratio"]))
ANSWERS = ViewColumn("answers", _answers)
COLUMNS = (
    given("peer"),
    count_given("subscriptions", "n_subscriptions"),
    VERSION,
    count_given("batch", "batch"),
    *(MILLISECONDS, OURS_MILLISECONDS, TIMES, ANSWERS, LACKS),
)


def experiment(work: Work, chosen: Sequence[type[Peer]], threads: int) -> Experiment[Any, Any]:
    """The benchmark of a work: a contest for each of these peers."""

    def sweep(scale: PeerScale) -> Iterable[PeerPoint]:
        return (PeerPoint(peer, scale, threads) for peer in chosen if peer.work == work.name)

    return Experiment(f"peers-{work.name}", work.summary, work.scales, sweep, measure, COLUMNS)


def shown(rows: Sequence[Row]) -> list[Row]:
    """The rows of a table: those of peers, which hold what Skyband took beside them."""
    return [row for row in rows if row["algorithm"] != OURS]
