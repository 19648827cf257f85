"""A router and its zones answer like one engine over all subscriptions, row for row."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.stage.merge import merged, merged_tops
from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.stage.router import Router
from skyband.pipeline.stage.zone import Zone
from skyband.pipeline.state.spec import Shape, parse_shape
from tests.pipeline.streams import Alone, Batch, Row, raw, shape_of, streams

CASES = [("window", "time"), ("window", "count"), ("window", "none"), ("geotext", "time"), ("geotext", "none")]
CASES += [("ranges", "none"), ("ranked", "none")]


class Divided:
    """A router and zones in one process, which may lose any of their parts and rebuild it from the log."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.router = Router(shape)
        self.zones = [Zone(shape, number) for number in range(shape.n_zones)]
        self.log: list[pa.Table] = []
        self.tops: dict[str | int, list[Row]] = {}

    def apply(self, batch: int, rows: pa.Table) -> list[Row]:
        """The changes of a batch, in order, without the keys."""
        routing = self.router.route(batch, prepare_rows(rows, self.shape))
        self.log.append(routing.rows)
        answers = [zone.apply(batch, self._of(zone.number, routing.rows), self._wants_tops) for zone in self.zones]
        changes = merged(pa.concat_tables([answer.changes for answer in answers]), self.shape)
        if self._wants_tops:
            self._replace_tops(merged_tops(pa.concat_tables([answer.tops for answer in answers])))
        told: list[Row] = changes.drop_columns(["batch", "row"]).to_pylist()
        return told

    @property
    def _wants_tops(self) -> bool:
        return self.shape.family != "ranked"

    def _of(self, zone: int, rows: pa.Table) -> pa.Table:
        return rows.filter(pa.compute.equal(rows["zone"], zone))

    def _replace_tops(self, tops: pa.Table) -> None:
        for row in tops.to_pylist():
            if row["rank"] in (None, 1):
                self.tops[row["subscription"]] = []
            if row["rank"] is not None:
                self.tops[row["subscription"]].append(row)

    def lose_router(self) -> None:
        """Rebuild the router from the log alone."""
        self.router = Router(self.shape)
        for batch, rows in enumerate(self.log):
            self.router.relive(batch, rows)

    def save_router(self) -> None:
        """Put the router through its saved form."""
        tables = self.router.save()
        self.router = Router(self.shape)
        self.router.load(tables)

    def lose_zone(self, number: int) -> None:
        """Rebuild a zone from the log alone."""
        self.zones[number] = Zone(self.shape, number)
        for batch, rows in enumerate(self.log):
            self.zones[number].apply(batch, self._of(number, rows))

    def refresh(self) -> None:
        """Let every engine tell the router what can still reach it."""
        for zone in self.zones:
            self.router.refresh(zone.number, *zone.interests())


@pytest.mark.few(8)
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("n_zones", [1, 2, 4])
@pytest.mark.parametrize(("family", "window"), CASES)
@given(data=st.data())
def test_like_one_engine(family: str, window: str, n_zones: int, granularity: str, data: st.DataObject) -> None:
    shape = shape_of(family, n_zones, window=window, granularity="batch" if family == "ranked" else granularity)
    divided, alone = Divided(parse_shape(shape.to_json())), Alone(shape)
    for number, batch in enumerate(data.draw(streams(family, window))):
        for trouble in data.draw(st.lists(st.sampled_from(["router", "saved", "zone", "refresh"]), max_size=2)):
            if trouble == "router":
                divided.lose_router()
            elif trouble == "saved":
                divided.save_router()
            elif trouble == "zone":
                divided.lose_zone(data.draw(st.integers(0, n_zones - 1)))
            elif n_zones > 1:
                divided.refresh()
        assert divided.apply(number, raw(batch)) == alone.apply(batch)
        assert divided.router.now == alone.engine.now
        if family != "ranked":
            assert [row for top in divided.tops.values() for row in top] == _tops(alone, list(divided.tops))


def _tops(alone: Alone, asked: list[str | int]) -> list[Row]:
    rows = alone.engine.top().to_pylist()
    return [row for id in asked for row in rows if row["subscription"] == id]


@pytest.mark.parametrize("is_lost", [False, True])
def test_an_id_is_free_once_time_has_passed_without_a_publication(is_lost: bool) -> None:
    shape = shape_of("window", 2, window="time")
    divided, alone = Divided(shape), Alone(shape)
    asked = {"op": "subscribe", "id": "s", "k": 1, "score": "euclidean", "point": [0.0, 0.0]}
    said = {"id": "p", "ts": 0, "point": [0.0, 0.0]}
    batches = [
        Batch([asked], [said]),
        Batch([{"op": "advance", "ts": 5}], [said | {"ts": 4}]),
        # A router that was rebuilt knows that the id is taken again.
        Batch([], [said | {"ts": 5}]),
        # What is over by the end of the commands was still there for the first of them.
        Batch([asked | {"id": "t"}, {"op": "advance", "ts": 9}], []),
    ]
    for number, batch in enumerate(batches):
        if is_lost:
            divided.lose_router()
        assert divided.apply(number, raw(batch)) == alone.apply(batch)
