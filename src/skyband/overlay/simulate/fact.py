"""What a run was about, for who counts its messages: what was published and asked for where, and what came of it."""

from typing import Any, NamedTuple

from skyband.contract.family import FAMILIES
from skyband.covering.routed import RoutedSubscription, Spoken
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.record import whole_records
from skyband.overlay.simulate.world import BrokerWorld

Key = tuple[int, int]


class HeardAway(NamedTuple):
    """A client of a broker has heard of a delivery to its subscription, which another broker may have answered."""

    broker: int
    asked: RoutedSubscription


class RunFacts:
    """Publications by key, and subscriptions with their brokers, by what is on the disks; and what homes have sent.

    `entered` has the homes where a publication has entered a top; `first` and `renewed` count the proxies of each home.
    """

    def __init__(self, world: BrokerWorld) -> None:
        self._options = world.scenario.options
        self._routing: Any = FAMILIES[self._options.family].routing
        self.published: dict[Key, Spoken] = {}
        self.retracted: set[Key] = set()
        self.wanted: list[tuple[int, RoutedSubscription]] = []
        self.unwanted: list[tuple[int, RoutedSubscription]] = []
        for broker, disk in enumerate(world.disks):
            self._read(broker, whole_records(disk.history))
        keys = {each.id: key for key, each in self.published.items()}
        self.entered: dict[Key, set[int]] = {key: set() for key in self.published}
        for broker, audience in enumerate(world.audiences):
            for _, row in audience.changes:
                if row[-1]:
                    self.entered[keys[row[1]]].add(broker)
        by_id = {asked.id: asked for _, asked in self.wanted}
        self.heard = [
            HeardAway(broker, by_id[id])
            for broker, audience in enumerate(world.audiences)
            for id, _ in dict.fromkeys(audience.heard)
        ]
        watches = [getattr(world.broker(broker).strategy, "watch", None) for broker in world.members]
        self.first = [0 if watch is None else watch.keeper.n_first for watch in watches]
        self.renewed = [0 if watch is None else watch.keeper.n_renewed for watch in watches]

    @property
    def n_told(self) -> int:
        """How many publications and retractions there are."""
        return len(self.published) + len(self.retracted)

    @property
    def n_asked(self) -> int:
        """How many subscriptions there are, and ends of them."""
        return len(self.wanted) + len(self.unwanted)

    def first_gate(self, asked: RoutedSubscription) -> float:
        """The gate that a subscription begins with."""
        return asked.open_gate if asked.threshold is None else asked.threshold

    def n_links_to(self, origin: int, homes: set[int]) -> int:
        """How many links of the tree lead from a broker to some others, each counted once."""
        return n_links_below(self._options.chart, origin, -1, homes)

    def _read(self, broker: int, records: list[list[Any]]) -> None:
        settings, known = self._options.settings, dict[Any, RoutedSubscription]()
        for kind, *fields in records:
            if kind == "published":
                self.published[broker, fields[0]] = self._routing.spoken(fields[2] | {"ts": fields[1]}, settings)
            elif kind == "retracted":
                self.retracted.add((broker, fields[0]))
            elif kind == "wanted":
                asked = self._routing.subscription(fields[0], settings)
                known[asked.id] = asked
                self.wanted.append((broker, asked))
            elif kind == "unwanted":
                self.unwanted.append((broker, known[fields[0]]))


def n_links_below(chart: Chart, broker: int, above: int, homes: set[int]) -> int:
    """How many links lead away from a broker to some others, without the way on which it was come to."""
    found = 0
    for below in chart.tree[broker]:
        if below != above:
            n_beyond = n_links_below(chart, below, broker, homes)
            found += n_beyond + (n_beyond > 0 or below in homes)
    return found
