"""One broker alone: what it asks to be done for each event, and in which order."""

from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import CHARTS, Chart, regular_chart, tree_chart
from skyband.overlay.broker.event import (
    Accepted,
    Changed,
    Effect,
    Keep,
    Offered,
    Received,
    Refused,
    Resumed,
    Started,
    Subscribed,
    Sync,
    Synced,
    Taken,
    Tell,
    Timer,
    Unsubscribed,
    Write,
)
from skyband.overlay.broker.frame import Envelope, Hello
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.record import pack_record, unpack_record, whole_records
from skyband.overlay.simulate.run import default_mode
from skyband.overlay.strategy import STRATEGIES, strategy_named
from tests.overlay.worlds import near, zone_map

SECOND = 1_000_000
ALONE = BrokerOptions(chart=Chart(1, []), strategy="publication-flooding", mode="eager")


class Client:
    """A broker whose disk is synced at once."""

    def __init__(self, options: BrokerOptions = ALONE, records: tuple[bytes, ...] = ()) -> None:
        self.broker, self.now = Broker(0, options), 0
        self.records = list(records)
        self.do(Started(records))

    def do(self, event: Any) -> list[Effect]:
        """What comes of an event, syncs included."""
        self.now += 1000
        done = self.broker.step(self.now, event)
        self.records += [effect.record for effect in done if isinstance(effect, Write)]
        for effect in list(done):
            if isinstance(effect, Sync):
                done = [*done, *self.do(Synced(effect.number))]
        return done

    def told(self, event: Any) -> list[Any]:
        """What clients are told."""
        return [effect.what for effect in self.do(event) if isinstance(effect, Tell)]


def offer(id: int, x: float = 1.0) -> Offered:
    return Offered({"id": id, "point": [x, x]})


def test_a_publication_is_written_and_synced_before_it_is_accepted() -> None:
    client = Client()
    first = client.broker.step(5000, offer(1))
    assert [type(effect) for effect in first] == [Write, Sync]
    assert client.told(offer(2)) == [Accepted(2, 2)]


def test_changes_are_told_when_their_step_is_durable() -> None:
    client = Client()
    assert client.told(near("s", 0.0, 0.0)) == [Taken("s")]
    assert [type(what) for what in client.told(offer(1))] == [Accepted, Changed]


def test_a_broker_that_starts_again_tells_what_was_not_heard() -> None:
    client = Client()
    client.do(near("s", 0.0, 0.0))
    client.do(offer(1, 3.0))
    (changed,) = [what for what in client.told(offer(2, 1.0)) if isinstance(what, Changed)]
    again = Client(records=tuple(client.records))
    heard = again.told(Resumed(1))
    assert [what.first for what in heard] == [1, 2]
    assert tuple(row for what in heard for row in what.rows) == changed.rows
    assert again.broker.home.top() == client.broker.home.top()
    assert again.told(offer(3, 9.0)) == [Accepted(3, 3)]


def test_changes_that_are_not_kept_any_more_are_refused() -> None:
    client = Client()
    client.do(near("s", 0.0, 0.0))
    client.do(offer(1, 1.0))
    client.now += 3 * client.broker.options.horizon
    client.do(offer(2, 1.0))
    kept = client.broker.home.first_kept
    assert kept > 0
    refused, *changed = client.told(Resumed(0))
    assert isinstance(refused, Refused)
    assert f"Changes from 0 to {kept - 1} are not kept any more" in refused.reason
    assert changed[0].first == kept


def test_torn_records_are_cut_off() -> None:
    client = Client()
    client.do(offer(1))
    torn = (*client.records, pack_record("published", 2, 3, {"id": 2, "point": [1.0, 1.0]})[:-3])
    broker = Broker(0, ALONE)
    assert Keep(len(client.records)) in broker.step(0, Started(torn))
    assert whole_records(torn) == whole_records(client.records)
    assert unpack_record(b"") is None


def test_nothing_is_taken_before_the_life_is_on_disk() -> None:
    broker = Broker(0, ALONE)
    broker.step(0, Started())
    (refused,) = broker.step(1, offer(1))
    assert isinstance(refused, Tell)
    assert isinstance(refused.what, Refused)
    effects = broker.step(2, Synced(1))
    assert any(isinstance(effect, Timer) for effect in effects)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Unsubscribed("t"), "is not registered here"),
        (near("s", 0.0, 0.0), "is already registered"),
        (near("w", 0.0, 0.0, window_us=61 * SECOND), "wider than the horizon"),
        (Subscribed({"id": "x", "k": 0, "score": "euclidean", "point": [0.0]}), "k must be at least 1"),
        (Offered({"id": 7, "point": None}), "point must not be null"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(event: Any, reason: str) -> None:
    client = Client()
    client.do(near("s", 0.0, 0.0))
    (refused,) = client.told(event)
    assert isinstance(refused, Refused)
    assert reason in refused.reason


def test_count_windows_are_refused_where_publications_do_not_get_to_everybody() -> None:
    row = {"id": "c", "k": 1, "score": "euclidean", "point": [0.0, 0.0], "window_n": 3}
    assert Client().told(Subscribed(row)) == [Taken("c")]
    for strategy in STRATEGIES.keys() - {"publication-flooding"}:
        mode = default_mode(strategy)
        options = BrokerOptions(chart=Chart(1, []), strategy=strategy, zones=zone_map(1), mode=mode)
        (refused,) = Client(options).told(Subscribed(row))
        assert "count window" in refused.reason


def test_grids_of_too_many_cells_are_refused() -> None:
    options = BrokerOptions(chart=Chart(1, []), strategy="covering", mode="eager", gates="chance", updates="cells")
    row = {"id": "c", "k": 1, "score": "euclidean", "point": [0.0] * 12, "window_us": SECOND}
    (refused,) = Client(options).told(Subscribed(row))
    assert "too many cells" in refused.reason
    assert Client(options).told(Subscribed(row | {"point": [0.0, 0.0]})) == [Taken("c")]


def test_brokers_with_other_charts_refuse_each_other() -> None:
    options = BrokerOptions(chart=Chart(2, [(0, 1)]), strategy="publication-flooding", mode="eager")
    envelope = Envelope(1, 2, 1, 0, 0, Hello(1), (0, 0, 0), options.chart.version + 1)
    (refused,) = Client(options).told(Received(envelope))
    assert "another chart" in refused.reason


def test_only_families_with_places_are_routed() -> None:
    with pytest.raises(ValueError, match="cannot be routed"):
        Broker(0, BrokerOptions(chart=Chart(1, []), strategy="covering", family="ranges"))
    with pytest.raises(ValueError, match="There is no strategy 'shouting'"):
        strategy_named("shouting")


@pytest.mark.parametrize("name", CHARTS)
def test_charts_leave_nobody_apart(name: str) -> None:
    chart = CHARTS[name](20, 3)
    assert sum(map(len, chart.tree)) == 2 * 19
    for source in range(20):
        for target in range(20):
            assert chart.distance(source, target) <= 19
            assert source == target or chart.next_hop(source, target) in chart.neighbours[source]
    assert CHARTS[name](20, 3).version == chart.version


def test_charts_say_what_they_are() -> None:
    chart = tree_chart(256)
    assert round(chart.mean_degree, 2) == 1.99
    assert round(chart.mean_distance(), 1) == 7.5
    assert set(map(len, regular_chart(40, 3, 1).neighbours)) == {3}


@pytest.mark.parametrize(
    ("n_brokers", "links", "reason"),
    [(0, [], "at least one broker"), (3, [(0, 1)], "cannot be reached"), (2, [(0, 2)], "two different brokers")],
)
def test_charts_that_cannot_be(n_brokers: int, links: list[tuple[int, int]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Chart(n_brokers, links)
