"""`skyband explain`: why a publication is in a top, or why not."""

from pathlib import Path

import pytest

from skyband.contract import FAMILIES
from skyband.replay import explain, top
from tests.cli.calling import call, document, failure, files
from tests.replay.small import small


@pytest.mark.parametrize("family", ["window", "geotext", "ranges"])
def test_it_agrees_with_the_top(family: str, tmp_path: Path) -> None:
    words, work = files(tmp_path, family), small(family)
    rows = top(work.publications, work.subscriptions).table.to_pylist()
    column = "object" if FAMILIES[family].has_objects else "id"
    names = work.publications[column].unique().to_pylist()[-8:]
    for row in rows[:2]:
        tops = {one["publication"]: one for one in rows if one["subscription"] == row["subscription"]}
        for name in names:
            found = explain(
                work.publications, work.subscriptions, subscription=row["subscription"], publication=name
            ).explanation
            assert found.in_top == (name in tops)
            if found.in_top:
                assert (found.rank, found.score) == (tops[name]["rank"], tops[name]["score"])
    said = document("explain", family, *words, "--subscription", row["subscription"], "--publication", names[-1])
    assert said["publication"] == names[-1]
    assert said["text"] == found.text


def test_an_event_is_explained_when_it_is_published(tmp_path: Path) -> None:
    words, work = files(tmp_path, "ranked"), small("ranked")
    event = work.publications["id"].to_pylist()[4]
    asked = work.subscriptions["id"].to_pylist()[:6]
    for id in asked:
        said = document("explain", *words, "--subscription", id, "--publication", event, "--k", 3)
        assert (said["k"], said["in_top"]) == (3, said["rank"] is not None and said["rank"] <= 3)
    said = document("explain", *words, "--subscription", asked[0], "--publication", event, "--matching", "exact")
    assert said["matches"] == all(one["met"] for one in said["conditions"])
    answer = failure("explain", *words, "--subscription", asked[0], "--publication", event, "--at", 0)
    assert answer.endswith(f"publications.parquet has no publication {event} by then.")


def test_budgets_are_those_of_then(tmp_path: Path) -> None:
    events = [{"id": i, "ts": i, "point": [1.0]} for i in range(3)]
    asked = [{"id": "ann", "lo": [0.0], "hi": [2.0], "budget": 2}]
    told = [explain(events, asked, subscription="ann", publication=i).explanation.in_top for i in range(3)]
    assert told == [True, True, False]


def test_what_has_become_of_it(tmp_path: Path) -> None:
    words, ids = files(tmp_path), small("window").publications["id"].to_pylist()
    times = small("window").publications["ts"].to_pylist()
    early = document("explain", *words, "--subscription", 3, "--publication", ids[0])
    assert (early["state"], early["in_top"]) == ("unknown", False)
    assert early["notes"] == [
        f"The file has it at {times[0]}: it has left every window and was forgotten, or it came too late."
    ]
    late = document("explain", *words, "--subscription", 3, "--publication", ids[9], "--at", times[4])
    assert late["notes"] == [f"The file has it at {times[9]}, which is later than {times[4]}."]
    assert late["at"] == times[4]
    now = document("explain", *words, "--subscription", 3, "--publication", ids[4], "--at", times[4])
    assert now["state"] == "live"


def test_what_is_printed(tmp_path: Path) -> None:
    words, ids = files(tmp_path, "geotext"), small("geotext").publications["id"].to_pylist()
    done = call("explain", *words, "--subscription", 2, "--publication", ids[-1])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"The publication {ids[-1]} is not in the top of the subscription 2."
    headers = [line.split() for line in lines if line.startswith(("part of", "met "))]
    assert [words[-1] for words in headers] == ["contribution", "by"]


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    words = files(tmp_path)
    assert failure("explain", *words, "--subscription", 99, "--publication", 1).endswith(
        "subscriptions.parquet has no subscription 99."
    )
    assert failure("explain", *words, "--subscription", 3, "--publication", 99).endswith(
        "publications.parquet has no publication 99."
    )
    assert "are integers, and 'x' is not." in failure("explain", *words, "--subscription", 3, "--publication", "x")
    assert "Missing option '--publication'" in failure("explain", *words, "--subscription", 3, code=2)
    assert "k and matching are options of the family ranked" in failure(
        "explain", *words, "--subscription", 3, "--publication", 1, "--k", 2
    )


def test_rows_may_be_left_out(tmp_path: Path) -> None:
    words = files(tmp_path, "window", "ndjson")
    with (tmp_path / "subscriptions.ndjson").open("a") as file:
        file.write('{"id": 7, "k": 0}\n')
    done = call("explain", *words, "--on-error", "collect", "--subscription", 3, "--publication", 39)
    assert done.exit_code == 0
    assert done.stderr == "Warning: 1 row was left out; skyband replay with --rejects tells which.\n"
