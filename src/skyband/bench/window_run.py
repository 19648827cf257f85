"""The evaluation of the top-k/w paper (section 5.1): Table 1, its data sets, and a run that its figures are read from.

Real points are readings of air-quality stations, from a file that is not part of the project and holds one reading in a
row (Beijing multi-site air quality, UCI 501, CC BY 4.0).

In a run, groups of subscriptions that differ in k or in threshold are registered in one engine before anything is
published; they ask from the same points. Then come all publications, and it is counted what each subscription is
delivered and how far away its k-th publication is.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench import real
from skyband.bench.experiment import Progress, Size
from skyband.bench.opening import open_engine
from skyband.bench.row import Row, average, measured, skipped
from skyband.bench.runner import race, time_in_turn
from skyband.contract import AnyEngine
from skyband.kernels.array import Floats
from skyband.window import workload
from skyband.workload.clock import MINUTE
from skyband.workload.seed import Purpose, generator
from skyband.workload.table import lists

# The answers are those of every exact engine. With 2,000 subscriptions, k from 1 to 81, in a window of 40,000, it takes
# 13 to 30 ms for a batch of 1,000 once the window is full, and blocks 11 to 22: too little to prefer one for its speed.
ENGINE = "scan"
SEED = 1
# How often k-th scores are looked at: they change slowly, and asking for all tops costs as much as a batch.
N_SAMPLES = 20
FILE = "sensors.parquet"
# Four, as in the paper; of those in the file, the ones with the fewest gaps and the least rounding.
COLUMNS = ("o3", "temp_c", "pres_hpa", "dewpoint_c")
# PA's σ, and what both algorithms that move thresholds count of that.
SIGMA, UPDATES = 1e-3, ("threshold_updates", "cell_updates")


class WindowScale(NamedTuple):
    """How much of Table 1 is taken, by default all; windows and `minutes`, which is P / λ, are in minutes."""

    n_subscriptions: int = 400
    rate: int = 1000
    minutes: int = 1000
    batch: int = 1000
    ks: tuple[int, ...] = (1, 3, 9, 27, 81)
    windows: tuple[int, ...] = (10, 20, 40, 80, 160)
    data: tuple[str, ...] = ("uniform", "clustered", "real")
    k: int = 9
    window: int = 40

    @property
    def rates(self) -> tuple[int, ...]:
        """λ from a quarter of its default to four times that."""
        return tuple(self.rate * quarters // 4 for quarters in (1, 2, 4, 8, 16))

    @property
    def threshold(self) -> float:
        """The threshold of Boolean subscriptions: 0.09 in the paper, and wider where publications are sparser."""
        return round(0.09 * math.sqrt(math.sqrt(1000 / self.rate)), 2)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """From a third of the threshold to five thirds of it."""
        return tuple(round(self.threshold * thirds / 3, 4) for thirds in range(1, 6))

    @property
    def b(self) -> int:
        """The shared buffer of SASF: what arrives in two minutes, 2,000 in the paper."""
        return 2 * self.rate


SCALES: dict[Size, WindowScale] = {
    # Without the real data set, so that what a toy run does is the same everywhere.
    "toy": WindowScale(4, 8, 40, 20, (1, 3, 9), (4, 8), ("uniform", "clustered"), 3, 8),
    # Publications ten times as sparse: as many windows pass as in the paper, and each holds a tenth.
    "small": WindowScale(n_subscriptions=100, rate=100, batch=500),
    "full": WindowScale(),
}


class Group(NamedTuple):
    """Subscriptions of one kind: to the k best of the window, or, with k = 0, to all within a threshold."""

    k: int = 0
    threshold: float = math.nan

    @property
    def model(self) -> str:
        """What the paper calls such subscriptions."""
        return "top-k/w" if self.k else "Boolean"


class WindowSetting(NamedTuple):
    """What a run publishes, and to how many of each group; `window` is in minutes."""

    data: str
    rate: int
    window: int
    n_publications: int
    n_subscriptions: int
    batch: int

    @property
    def n_live(self) -> int:
        """How many publications a full window holds on average."""
        return self.rate * self.window

    @property
    def missing(self) -> str | None:
        """Why the setting cannot be run, as a sentence; None if it can."""
        return real.why_missing(FILE) if self.data == "real" and real.find(FILE) is None else None

    @property
    def options(self) -> workload.Options:
        """The workload; for the real data set, points of that take the place of the drawn ones."""
        data: Any = "uniform" if self.data == "real" else self.data
        return workload.Options(
            n_publications=self.n_publications,
            n_subscriptions=self.n_subscriptions,
            rate=float(self.rate),
            window_us=self.window * MINUTE,
            data=data,
            seed=SEED,
        )

    def subscriptions(self, groups: Sequence[Group]) -> pa.Table:
        """The groups one after the other, ids counted through."""
        asked = workload.subscriptions(self.options)
        if self.data == "real":
            asked = _replaced(asked, sample(generator(SEED, Purpose.SUBSCRIPTIONS), len(asked)))
        return pa.concat_tables([self._group(asked, group, i * len(asked)) for i, group in enumerate(groups)])

    def _group(self, asked: pa.Table, group: Group, first_id: int) -> pa.Table:
        n = len(asked)
        # What a Boolean subscription is delivered does not depend on its window: a short one keeps less.
        minutes = self.window if group.k else 1
        columns = {
            "id": pa.array(np.arange(first_id, first_id + n)),
            "k": pa.array([group.k or None] * n, pa.int64()),
            "score": asked["score"],
            "point": asked["point"],
            "window_us": pa.array(np.full(n, minutes * MINUTE)),
            "threshold": pa.array([None if group.k else group.threshold] * n, pa.float64()),
        }
        return pa.table(columns)

    def publications(self) -> list[pa.Table]:
        """All publications, in batches."""
        batches = list(workload.stream(self.options, self.batch))
        if self.data == "real":
            for i, batch in enumerate(batches):
                batches[i] = _replaced(batch, choices(generator(SEED, Purpose.PUBLICATIONS, i), len(batch)))
        return batches

    def parameters(self, group: Group, engine: str) -> dict[str, Any]:
        """What a row says of its setting and group."""
        given = self._asdict() | {"n_live": self.n_live, "dims": 4, "engine": engine, "seed": SEED}
        return given | ({"k": group.k} if group.k else {"threshold": group.threshold})


def _replaced(table: pa.Table, points: Floats) -> pa.Table:
    return table.set_column(table.column_names.index("point"), "point", lists(points))


def setting_of(scale: WindowScale, data: str, minutes: int, rate: int | None = None) -> WindowSetting:
    """A setting of this scale: a data set, a window and λ, for as many minutes as the scale has."""
    rate = scale.rate if rate is None else rate
    return WindowSetting(data, rate, minutes, rate * scale.minutes, scale.n_subscriptions, scale.batch)


class RunLedger:
    """What each subscription was delivered, before and after a first full window, and its k-th scores after that."""

    def __init__(self, ks: Sequence[int], n_turns: int, first_full: int) -> None:
        """`ks` has an entry for each subscription, 0 for Boolean ones; the ids of the others are asked for tops."""
        self._k = np.array(ks)
        self._ranked = pa.array(np.flatnonzero(self._k))
        self._first_full = first_full
        self._samples = set(np.linspace(min(first_full, n_turns - 1), n_turns - 1, N_SAMPLES).astype(int).tolist())
        self._delivered = np.zeros((2, len(self._k)))
        self._scores, self._n_scores = np.zeros(len(self._k)), np.zeros(len(self._k))

    def note(self, turn: int, changes: pa.Table, engine: AnyEngine) -> None:
        """Take what a batch has changed, and the tops if they are due."""
        delivered = changes["subscription"].to_numpy()[changes["first"].to_numpy()]
        self._delivered[int(turn >= self._first_full)] += np.bincount(delivered, minlength=len(self._k))
        if turn in self._samples and len(self._ranked):
            tops = engine.top(self._ranked)
            subscription, score = tops["subscription"].to_numpy(), tops["score"].to_numpy()
            last = tops["rank"].to_numpy() == self._k[subscription]
            self._scores[subscription[last]] += score[last]
            self._n_scores[subscription[last]] += 1

    def measures(self, of: slice, n_windows: float) -> dict[str, float]:
        """Means over these subscriptions with their standard errors; `n_windows` have passed since the first."""
        told = average("deliveries", self._delivered[:, of].sum(axis=0))
        told |= average("deliveries_window", self._delivered[1, of] / n_windows)
        seen = self._n_scores[of] > 0
        return told | average("kth_score", self._scores[of][seen] / self._n_scores[of][seen])


class Run(NamedTuple):
    """A setting, the groups that are registered in one engine, the name of the contest, and what is said of it."""

    setting: WindowSetting
    groups: Sequence[Group]
    contest: str
    said: str


def run_groups(each: Run, progress: Progress) -> list[Row]:
    """A row for each group."""
    progress(each.said)
    return run(each.setting, each.groups, each.contest)


def run(setting: WindowSetting, groups: Sequence[Group], contest: str) -> list[Row]:
    """A row for each group, with what it was delivered and its k-th score; or rows that say why there are none."""
    given = [setting.parameters(group, ENGINE) for group in groups]
    if setting.missing is not None:
        reason = setting.missing
        return [skipped(contest, group.model, each, reason) for group, each in zip(groups, given, strict=True)]
    engine = open_engine("window", ENGINE, granularity="publication")
    engine.subscribe(setting.subscriptions(groups))
    batches, n = setting.publications(), setting.n_subscriptions
    first_full = first_full_turn(setting, batches)
    ledger = RunLedger(np.repeat([group.k for group in groups], n).tolist(), len(batches), first_full)
    taken = time_in_turn(
        {ENGINE: lambda turn: engine.publish(batches[turn])},
        len(batches),
        n_warm=0,
        after=lambda name, turn, changes: ledger.note(turn, changes, engine),
    )[ENGINE]
    n_windows = (len(batches) - first_full) * setting.batch / setting.n_live
    return [
        measured(contest, group.model, each, taken, setting.batch, ledger.measures(slice(i * n, i * n + n), n_windows))
        for i, (group, each) in enumerate(zip(groups, given, strict=True))
    ]


class Moving(NamedTuple):
    """A setting of PA and SASF, and how many publications the latter buffers."""

    setting: WindowSetting
    k: int
    b: int


def count_updates(moving: Moving, progress: Progress) -> list[Row]:
    """How often each moves a threshold, and how often that changes the cells; the exact one first."""
    setting, group, label = moving.setting, Group(moving.k), f"k = {moving.k}"
    progress(f"{label}, a window of {setting.window} minutes")
    options: dict[str, dict[str, Any]] = {"sasf": {"b": moving.b}, "pa": {"sigma": SIGMA}}
    engines = {
        name: open_engine("window", name, granularity="publication", index="grid", **own)
        for name, own in options.items()
    }
    for engine in engines.values():
        engine.subscribe(setting.subscriptions([group]))
    batches = setting.publications()
    calls = {name: lambda turn, engine=engine: engine.publish(batches[turn]) for name, engine in engines.items()}
    rows = race(f"{label}, {setting.window} min", calls, len(batches), setting.batch, {}, n_warm=0)
    for row in rows:
        name, counters = row["algorithm"], engines[row["algorithm"]].counters
        row["parameters"] = setting.parameters(group, name) | {"index": "grid"} | options[name]
        row["measures"] = {counter: float(counters.get(counter, 0)) for counter in UPDATES}
        row["measures"]["deliveries"] = counters["delivery"] / setting.n_subscriptions
    return rows


def first_full_turn(setting: WindowSetting, batches: Sequence[pa.Table]) -> int:
    """The first batch that finds a whole window behind it."""
    starts = [batch["ts"][0].as_py() for batch in batches]
    return int(np.searchsorted(starts, setting.window * MINUTE))


def deliveries_in_a_window(k: int) -> float:
    """How many publications enter a top k on average while as many arrive as a full window holds.

    k of them on arrival, the others later, when better ones expire; the page on the evaluation derives it.
    """
    return k + 2 * k * math.comb(2 * k, k) / math.pow(4, k)


def expected_deliveries(k: int, n_live: int, n_publications: int) -> float:
    """How many publications enter a top k on average, from an empty window on.

    While the window fills, the i-th arrival enters with chance k / i, and nothing expires. The second window is counted
    like all later ones, which is too much by less than what enters late in one.
    """
    filling = k + sum(k / i for i in range(k + 1, n_live + 1))
    return filling + (n_publications / n_live - 1) * deliveries_in_a_window(k)


def expected_kth_score(k: int, n_live: int, dims: int = 4) -> float:
    """The mean distance to the k-th nearest of uniform points, far from any edge; near one it is larger."""
    ball = math.pi ** (dims / 2) / math.gamma(dims / 2 + 1)
    return math.exp(math.lgamma(k + 1 / dims) - math.lgamma(k)) / math.pow(ball * n_live, 1 / dims)


@lru_cache(maxsize=1)
def points(path: Path) -> Floats:
    """The readings without a gap, a row each, every column shifted and scaled to [0, 1]."""
    return real.unit_points(path, COLUMNS)


def sample(random: np.random.Generator, n: int) -> Floats:
    """n of the readings, none of them twice."""
    found = _found()
    return found[random.choice(len(found), n, replace=False)]


def choices(random: np.random.Generator, n: int) -> Floats:
    """n readings, each chosen from all."""
    found = _found()
    return found[random.integers(len(found), size=n)]


def _found() -> Floats:
    path = real.find(FILE)
    if path is None:
        raise FileNotFoundError(real.why_missing(FILE))
    return points(path)
