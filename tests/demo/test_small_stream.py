"""The small streams beside the city: one for each other family, with rows that its engine takes."""

from itertools import islice
from typing import Any

from skyband.contract.family import published_families
from skyband.demo.hosted import hosted_stream, stamped
from skyband.demo.small_stream import small_streams


def test_there_is_a_stream_for_every_family() -> None:
    families = [stream.spec.family for stream in small_streams(7)] + [hosted_stream().family]
    assert sorted(families) == sorted(published_families())


def test_their_rows_are_taken_and_answered() -> None:
    for stream in small_streams(7):
        engine: Any = stream.spec._replace(engine="scan").open()
        engine.subscribe(stream.subscriptions)
        answers = engine.publish(stamped(list(islice(stream.publications, 60)), 10**12))
        assert len(answers) > 0, stream.name
        assert engine.counters.get("late", 0) == 0


def test_the_same_seed_draws_the_same() -> None:
    drawn = [[(s.subscriptions, list(islice(s.publications, 40))) for s in small_streams(seed)] for seed in (7, 7, 8)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
