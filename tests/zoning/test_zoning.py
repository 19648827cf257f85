"""Zoning: even loads, the same zone everywhere, and samples that tell little."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skyband.contract.rows import take
from skyband.table import Settings
from skyband.zoning import Zoning, fit
from skyband.zoning.load import loads
from tests.zoning import world
from tests.zoning.sample import OPTIONS, sample
from tests.zoning.world import FAMILIES, Row

NOBODY = np.zeros(0, np.int64)
SAMPLE = pytest.mark.parametrize("name", OPTIONS)

KINDS = {"window": "point", "geotext": "place", "ranges": "range", "ranked": "dimension"}
ROWS: dict[str, Row] = {
    "window": {"k": 1, "score": "euclidean", "point": [1.0, 2.0]},
    "geotext": {"k": 1, "x": 0.5, "y": 0.25, "terms": ["a"], "alpha": 0.5},
    "ranges": {"k": 1, "lo": [0.0, 0.0], "hi": [1.0, 1.0]},
    "ranked": {"dims": [1], "lo": [0.0], "hi": [1.0]},
}
EVENTS: dict[str, Row] = {
    "window": {"point": [0.0, 0.0]},
    "geotext": {"x": 0.0, "y": 0.0, "terms": ["a"], "weights": [1.0]},
    "ranges": {"object": 1, "x": [0.5, 0.5], "y": 0.0},
    "ranked": {"point": [0.0, 0.5, 0.0]},
}


@SAMPLE
def test_loads_of_others_are_even_too(name: str) -> None:
    """Zones are fitted to every fourth subscription and every other publication, and hold them all."""
    family, settings, _, subscriptions, publications = sample(name)
    some = take(subscriptions, np.arange(0, len(subscriptions.ids), 4))
    others = take(publications, np.arange(0, len(publications.ids), 2))
    zoning = fit(family, some, others, 4, settings)
    assert zoning.kind == KINDS[family]
    assert zoning.counts.sum() == len(some.ids)
    assert zoning.loads.sum() == pytest.approx(loads(family, some, others).sum())
    assert zoning.loads.max() <= 1.5 * zoning.loads.mean()
    zones = zoning.zone_of(subscriptions)
    load = np.bincount(zones, loads(family, subscriptions, publications), 4)
    assert load.max() <= 2.0 * load.mean()


@SAMPLE
@pytest.mark.parametrize("n_zones", [1, 3, 16])
def test_text_says_it_all(name: str, n_zones: int) -> None:
    family, settings, _, subscriptions, publications = sample(name, 300)
    zoning = fit(family, subscriptions, publications, n_zones, settings)
    again = Zoning.from_json(zoning.to_json())
    assert again.to_json() == zoning.to_json()
    assert again.zone_of(subscriptions).tolist() == zoning.zone_of(subscriptions).tolist()
    assert again.describe() == zoning.describe()
    zones = zoning.zone_of(subscriptions)
    assert zones.dtype == np.int64
    assert zones.min() >= 0
    assert zones.max() < n_zones
    for i in (0, 17, 299):
        assert zoning.zone_of(take(subscriptions, np.array([i])))[0] == zones[i]


def test_every_process_finds_the_same_zones(tmp_path: Path) -> None:
    script = """
import sys
from skyband.zoning import Zoning, fit
from tests.zoning.sample import sample
for name in ("geotext", "window of all scores", "ranked and sparse"):
    family, settings, _, subscriptions, publications = sample(name, 300)
    if sys.argv[1] == "fit":
        print(fit(family, subscriptions, publications, 5, settings).to_json())
    else:
        print(*Zoning.from_json(sys.stdin.readline()).zone_of(subscriptions))
"""

    def run(word: str, given: str, seed: str) -> str:
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", script, word]
        done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    fitted = run("fit", "", "1")
    assert fitted == run("fit", "", "2")
    zones = run("use", fitted, "3")
    for text, line, name in zip(
        fitted.splitlines(), zones.splitlines(), ("geotext", "window of all scores", "ranked and sparse"), strict=True
    ):
        found = Zoning.from_json(text).zone_of(sample(name, 300).subscriptions)
        assert line == " ".join(map(str, found.tolist()))


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_may_be_empty(family: str) -> None:
    settings = world.settings_of(family)
    asked = world.subscriptions_of(family, [ROWS[family]] * 400, settings)
    said = world.publications_of(family, [EVENTS[family]], settings)
    nobody, silence = take(asked, NOBODY), take(said, NOBODY)
    for publications in (said, silence):
        zoning = fit(family, nobody, publications, 4, settings)
        assert zoning.kind == "id"
        assert zoning.zone_of(nobody).tolist() == []
        assert zoning.loads.tolist() == [0.0] * 4
        assert np.bincount(zoning.zone_of(asked), minlength=4).max() <= 150
    assert fit(family, asked, silence, 4, settings).loads.sum() == 400.0


@pytest.mark.parametrize("family", FAMILIES)
def test_one_place_for_all_is_dealt_out_by_id(family: str) -> None:
    settings = world.settings_of(family)
    asked = world.subscriptions_of(family, [ROWS[family]] * 400, settings)
    zoning = fit(family, asked, world.publications_of(family, [EVENTS[family]], settings), 4, settings)
    assert zoning.kind == "id"
    assert zoning.counts.min() >= 70
    assert zoning.loads.max() <= 1.5 * zoning.loads.mean()
    assert [row["cell"].endswith(f"by id {row['zone'] + 1} of 4") for row in zoning.describe()] == [True] * 4


@pytest.mark.parametrize("family", FAMILIES)
def test_one_zone_has_all(family: str) -> None:
    settings = world.settings_of(family)
    asked = world.subscriptions_of(family, [ROWS[family]] * 3, settings)
    zoning = fit(family, asked, world.publications_of(family, [EVENTS[family]], settings), 1, settings)
    assert (zoning.kind, zoning.n_zones) == ("whole", 1)
    assert zoning.zone_of(asked).tolist() == [0, 0, 0]
    # Each is reached by the one publication, once.
    assert zoning.describe() == [{"zone": 0, "cell": "everything", "subscriptions": 3, "load": 6.0}]


@pytest.mark.parametrize("family", FAMILIES)
def test_there_may_be_more_zones_than_subscriptions(family: str) -> None:
    settings = world.settings_of(family)
    others: dict[str, Row] = {
        "window": {"point": [5.0, 2.0]},
        "geotext": {"x": 0.75},
        "ranges": {"lo": [-np.inf, 0.0], "hi": [np.inf, 1.0]},
        "ranked": {"dims": [2]},
    }
    asked = world.subscriptions_of(family, [ROWS[family], ROWS[family] | others[family]], settings)
    zoning = fit(family, asked, world.publications_of(family, [EVENTS[family]], settings), 7, settings)
    assert zoning.counts.tolist().count(1) == 2
    assert zoning.kind == KINDS[family]


def test_scores_without_a_centre_are_dealt_out_by_id() -> None:
    zoning_of = sample("window of all scores")
    zoning = fit("window", zoning_of.subscriptions, zoning_of.publications, 4, Settings())
    zones = zoning.zone_of(zoning_of.subscriptions)
    is_distance = zoning_of.subscriptions.score < 2
    assert not set(zones[is_distance].tolist()) & set(zones[~is_distance].tolist())
    # Where the sample has none of them they may come all the same, and go anywhere.
    points = take(zoning_of.subscriptions, np.flatnonzero(is_distance))
    sums = take(zoning_of.subscriptions, np.flatnonzero(~is_distance))
    for seen, unseen in ((points, sums), (sums, points)):
        zoning = fit("window", seen, zoning_of.publications, 4, Settings())
        assert np.bincount(zoning.zone_of(unseen), minlength=4).min() >= 200
    assert zoning.kind == "id"


def test_a_dimension_that_few_ask_about_is_kept_together() -> None:
    rows: list[Row] = [{"dims": [i % 3], "lo": [float(i)], "hi": [float(i + 1)]} for i in range(300)]
    settings = world.settings_of("ranked")
    asked = world.subscriptions_of("ranked", rows, settings)
    zoning = fit("ranked", asked, world.publications_of("ranked", [EVENTS["ranked"]], settings), 3, settings)
    by_dimension = [set(zoning.zone_of(asked)[i::3].tolist()) for i in range(3)]
    assert [len(zones) for zones in by_dimension] == [1, 1, 1]
    # A narrow part decides, in proportion to how far its dimension extends; without any the zone is by id.
    both: list[Row] = [
        {"dims": [0, 1], "lo": [5.0, 5.0], "hi": [5.5, 250.0]},
        {"dims": [0, 1], "lo": [5.0, 5.0], "hi": [None, 9.0]},
        {"dims": [], "lo": [], "hi": []},
    ]
    zones = zoning.zone_of(world.subscriptions_of("ranked", both, settings)).tolist()
    assert zones[0] in by_dimension[0]
    assert zones[1] in by_dimension[1]


def test_cells_are_told_in_words() -> None:
    rows: list[Row] = [ROWS["geotext"] | {"x": x / 8, "y": y / 8} for x in range(8) for y in range(8)]
    asked = world.subscriptions_of("geotext", rows, Settings())
    zoning = fit("geotext", asked, world.publications_of("geotext", [], Settings()), 8, Settings())
    cells = [row["cell"] for row in zoning.describe()]
    assert cells[0] == "x below 0.1875, y below 0.4375"
    assert cells[-1] == "x from 0.6875, y from 0.4375"
    assert [row["subscriptions"] for row in zoning.describe()] == [8] * 8
    assert [row["load"] for row in zoning.describe()] == [8.0] * 8


def test_cells_of_scores_and_dimensions_are_told_in_words() -> None:
    scores = sample("window of all scores")
    zoning = fit("window", scores.subscriptions, take(scores.publications, NOBODY), 2, scores.settings)
    assert [row["cell"] for row in zoning.describe()] == ["distances", "sums and cosines"]
    rows: list[Row] = [{"dims": [i % 3], "lo": [float(i)], "hi": [float(i + 1)]} for i in range(300)]
    settings = world.settings_of("ranked")
    asked = world.subscriptions_of("ranked", rows, settings)
    zoning = fit("ranked", asked, world.publications_of("ranked", [], settings), 3, settings)
    cells = [row["cell"] for row in zoning.describe()]
    assert cells == ["dimensions 0 to 0", "dimensions 1 to 1", "dimensions 2 and above"]


def test_what_cannot_be_is_said() -> None:
    settings = world.settings_of("ranges")
    asked = world.subscriptions_of("ranges", [ROWS["ranges"], ROWS["ranges"] | {"lo": [-1.0, 0.5]}], settings)
    said = world.publications_of("ranges", [EVENTS["ranges"]], settings)
    with pytest.raises(ValueError, match="not 'covering'"):
        fit("covering", asked, said, 2, settings)
    with pytest.raises(ValueError, match="at least one zone, not 0"):
        fit("ranges", asked, said, 0, settings)
    zoning = fit("ranges", asked, said, 4, settings)
    line = settings._replace(dims=1)
    other = world.subscriptions_of("ranges", [{"k": 1, "lo": [0.0], "hi": [1.0]}], line)
    with pytest.raises(ValueError, match="fit the zones again"):
        zoning.zone_of(other)
    for text in ("", "3", "{}", '{"format": "skyband-zoning", "version": 99}'):
        with pytest.raises(ValueError, match="not a zoning of version 1"):
            Zoning.from_json(text)
