"""What holds for every family: the columns of the file contract, determinism, one table however it is cut."""

import hashlib
from dataclasses import fields
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from skyband.contract.family import FAMILIES
from skyband.table import Settings
from skyband.workload import Workload, recipe_of, recipes

SMALL: dict[str, dict[str, Any]] = {
    "window": {"n_publications": 20_000, "n_subscriptions": 50, "data": "clustered", "score": "mixed"},
    "geotext": {"n_publications": 17_000, "n_subscriptions": 300},
    "ranges": {
        "n_objects": 200, "n_events": 17_000, "n_subscriptions": 300, "delete_share": 0.1, "move_share": 0.1,
        "change": "gaussian", "data": "clustered",
    },
    "ranked": {"n_publications": 300, "n_subscriptions": 20_000, "dims": 3, "missing_share": 0.2},
    "covering": {"n_subscriptions": 300, "data": "clustered", "covered_share": 0.5},
}  # fmt: skip
PUBLICATIONS = {
    "window": ["id", "ts", "point"],
    "geotext": ["id", "ts", "x", "y", "terms", "weights"],
    "ranges": ["id", "ts", "object", "x", "y"],
    "ranked": ["id", "ts", "point"],
    "covering": ["id", "lo", "hi"],
}
SUBSCRIPTIONS = {
    "window": ["id", "k", "score", "point", "weights", "window_us"],
    "geotext": ["id", "k", "x", "y", "terms", "weights", "alpha", "window_n"],
    "ranges": ["id", "k", "lo", "hi"],
    "ranked": ["id", "k", "lo", "hi", "weights"],
    "covering": ["id", "lo", "hi"],
}


def make(family: str, **changes: Any) -> Workload:
    """A small workload of the family."""
    recipe = recipe_of(family)
    return recipe.generate(recipe.options(**SMALL[family] | changes))


def digest(made: Workload) -> str:
    """A fingerprint of every value of both tables."""
    values = repr((made.subscriptions.to_pydict(), made.publications.to_pydict()))
    return hashlib.sha256(values.encode()).hexdigest()[:16]


@pytest.fixture(params=recipes())
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_tables_have_the_columns_of_the_file_contract(family: str) -> None:
    made = make(family)
    assert made.family == family
    assert made.publications.column_names == PUBLICATIONS[family]
    assert made.subscriptions.column_names == SUBSCRIPTIONS[family]


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_the_model_rejects_no_row(family: str, kind: str) -> None:
    made, model = make(family, ids=kind), FAMILIES[family]
    assert model.parse_subscriptions(made.subscriptions, Settings()).rejects == []
    parse = model.parse_publications or model.parse_subscriptions
    assert parse(made.publications, Settings()).rejects == []


def test_same_seed_same_tables_and_another_seed_others(family: str) -> None:
    one, again, other = make(family, seed=3), make(family, seed=3), make(family, seed=4)
    assert one.subscriptions.equals(again.subscriptions)
    assert one.publications.equals(again.publications)
    assert not one.subscriptions.equals(other.subscriptions)
    assert not one.publications.equals(other.publications)


def test_a_seed_means_the_same_tables_for_ever(family: str) -> None:
    # Stored benchmark rows name a workload by its options: new digests make the old rows incomparable.
    kept = {
        "window": "132c2a44dd2235ef",
        "geotext": "c415f359b1eb7f9b",
        "ranges": "3e8b3c3156a7f6d4",
        "ranked": "eeb90a28f884a82b",
        "covering": "a36181cea55be87d",
    }
    assert digest(make(family)) == kept[family]


def test_parameters_are_the_options(family: str) -> None:
    made = make(family, seed=7)
    assert made.parameters["seed"] == 7
    assert list(made.parameters) == [item.name for item in fields(recipe_of(family).options)]
    assert SMALL[family].items() <= made.parameters.items()


def test_every_option_explains_itself(family: str) -> None:
    options = recipe_of(family).options
    for item in fields(options):
        assert item.metadata["help"].endswith("."), item.name
        assert isinstance(item.metadata["paper"], str), item.name
    assert set(get_type_hints(options)) == {item.name for item in fields(options)}


def test_ids_are_distinct_and_may_be_strings(family: str) -> None:
    for kind, arrow in (("integer", pa.int64()), ("string", pa.string())):
        made = make(family, ids=kind)
        for table in (made.subscriptions, made.publications):
            assert table["id"].type == arrow
            assert pc.count_distinct(table["id"]).as_py() == table.num_rows


def test_empty_tables_keep_their_columns(family: str) -> None:
    options = recipe_of(family).options
    counts = [item.name for item in fields(options) if item.name in ("n_publications", "n_queries", "n_events")]
    made = make(family, n_subscriptions=0, **dict.fromkeys(counts, 0))
    assert made.subscriptions.num_rows == 0
    assert made.subscriptions.schema == make(family).subscriptions.schema
    assert made.publications.schema == make(family).publications.schema


@pytest.mark.parametrize("family", [name for name, recipe in recipes().items() if recipe.second == "publications"])
def test_time_never_goes_back(family: str) -> None:
    times = make(family).publications["ts"].to_numpy()
    assert (times[1:] >= times[:-1]).all()


@pytest.mark.parametrize("family", [name for name, recipe in recipes().items() if recipe.stream])
@pytest.mark.parametrize("batch", [999, 16_384, 1_000_000])
def test_stream_is_generate_in_batches(family: str, batch: int) -> None:
    recipe = recipe_of(family)
    assert recipe.stream is not None
    assert recipe.subscriptions is not None
    options = recipe_of(family).options(**SMALL[family])
    whole = make(family)
    tables = list(recipe.stream(options, batch))
    assert [table.num_rows for table in tables[:-1]] == [batch] * (len(tables) - 1)
    assert pa.concat_tables(tables).equals(whole.publications)
    assert recipe.subscriptions(options).equals(whole.subscriptions)
