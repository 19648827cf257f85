"""`skyband overlay simulate`: counts on the screen and as a document, and a sentence for what cannot be."""

import pytest

from skyband.overlay.simulate.run import Outcome, drawn
from skyband.overlay.simulate.run import simulate as run
from tests.cli.calling import call, document, failure

SMALL = ("--seconds", 6, "--publications", 12, "--subscriptions", 3, "--brokers", 4)


def test_a_document_for_each_seed() -> None:
    found = document("overlay", "simulate", "zone-leases", "--seeds", 2, "--seed", 5, *SMALL)
    assert [each["seed"] for each in found] == [5, 6]
    for each in found:
        assert each["wrongs"] == each["shortest"] == []
        assert each["n_events"] > 0
        assert each["events_per_second"] * each["seconds"] == pytest.approx(each["n_events"])
        assert each["columns"]["publishing"]["n_bytes"] > 48 * each["columns"]["publishing"]["messages"] > 0


def test_a_table_for_people() -> None:
    done = call("overlay", "simulate", "publication-flooding", "--calm", *SMALL)
    assert done.exit_code == 0
    headers, row = done.stdout.splitlines()
    assert headers.split()[:4] == ["seed", "events", "changes", "subscribing"]
    assert row.split()[-1] == "ok"


def test_what_goes_wrong_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(drawn("publication-flooding", 0), shrinks=False)
    wrong: Outcome = outcome._replace(wrongs=["Something is lost."], shortest=["0 1 starts with 0 records"])
    monkeypatch.setattr("skyband.overlay.simulate.run.simulate", lambda scenario, twins: wrong)
    done = call("overlay", "simulate", "publication-flooding")
    assert done.exit_code == 1
    assert "Seed 0: Something is lost." in done.stdout
    assert "  0 1 starts with 0 records" in done.stdout


def test_what_cannot_wait_is_a_sentence() -> None:
    said = failure("overlay", "simulate", "basic-gossiping", "--mode", "watermark")
    assert said == "The strategy basic-gossiping cannot say when all publications up to a time are there: take eager."


def test_twins_are_run_if_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    accused = ["Property 10 (trace): it is another one."]
    monkeypatch.setattr("skyband.overlay.simulate.run.check_twins", lambda scenario, make, first: accused)
    done = call("overlay", "simulate", "publication-flooding", "--calm", "--json", *SMALL)
    assert done.exit_code == 0
    monkeypatch.setattr("skyband.overlay.simulate.run.shrink", lambda scenario, goes_wrong: scenario)
    (found,) = document("overlay", "simulate", "publication-flooding", "--calm", "--twins", *SMALL, code=1)
    assert found["wrongs"] == accused
