"""A family is one folder: that of docs/adding-a-family.md is found by everything, without an edit anywhere."""

import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-a-family.md"
NOTE = "python no-run: a test writes it to "

# The folder is put beside those of the package, as if it were one of them.
START = """
import sys
import skyband
skyband.__path__.append(sys.argv.pop(1))
"""

COMMAND = START + "from skyband.cli import main; main()"

IN_PYTHON = (
    START
    + """
from hypothesis import HealthCheck, settings
from skyband.testing import (
    check_against_oracle, check_determinism, check_explanations, check_splits, contract_cases
)
from skyband.zoning import Interest, fit

engine = skyband.open("news", window="10m")
assert (engine.family, engine.name) == ("news", "scan")
engine.subscribe([{"id": "ann", "k": 2, "topic": "jazz"}])
told = engine.publish(
    [
        {"id": 1, "ts": 0, "topic": "jazz", "stars": 3},
        {"id": 2, "ts": 1, "topic": "opera", "stars": 5},
        {"id": 3, "ts": 2, "topic": "jazz", "stars": 4},
    ]
)
assert [(row["op"], row["publication"], row["rank"]) for row in told.to_pylist()] == [("enter", 3, 1), ("enter", 1, 2)]
assert [row["publication"] for row in engine.preview({"id": "bob", "k": 1, "topic": "opera"}).to_pylist()] == [2]
assert engine.explain("ann", 1).rank == 2
assert "It does not meet the condition: its topic is jazz." in engine.explain("ann", 2).text
cases = [case for case in contract_cases() if case.engine.family == "news"]
assert len(cases) == 6, cases
quick = settings(max_examples=5, stateful_step_count=6, deadline=None, suppress_health_check=list(HealthCheck))
for case in cases:
    check_against_oracle(case, quick)
check_splits(cases[1], quick)
check_explanations(cases[0], quick)
check_determinism(cases[0], quick)

from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import Settings
asked = read_subscriptions("news", [{"id": i, "k": 1, "topic": "jazz"} for i in range(9)]).parsed.rows
said = read_publications("news", [{"id": 1, "ts": 0, "topic": "jazz", "stars": 3}]).parsed.rows
zones = fit("news", asked, said, 3, Settings())
assert zones.kind == "id" and zones.counts.sum() == 9
assert Interest.everything("news").admits(said, 0).all()
print("passed")
"""
)


def files_of(page: Path) -> dict[str, str]:
    """The files that a page has the content of, by name."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return {
        token.info.removeprefix(NOTE): token.content
        for token in tokens
        if token.type == "fence" and token.info.startswith(NOTE)
    }


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rooms")
    for name, content in {"news/__init__.py": '"""News."""\n', **files_of(PAGE)}.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return folder


def run(program: str, *arguments: object) -> str:
    """What a program prints that ends well."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_opened_and_checked(rooms: Path) -> None:
    assert run(IN_PYTHON, rooms) == "passed\n"


def test_the_command_line_knows_it(rooms: Path, tmp_path: Path) -> None:
    assert "a few subscriptions" in run(COMMAND, rooms, "engines", "news")
    assert "Rated news of a few topics" in run(COMMAND, rooms, "generate", "--help")
    assert "--n-topics" in run(COMMAND, rooms, "generate", "news", "--help")
    run(COMMAND, rooms, "generate", "news", "--out", tmp_path, "--n-publications", 50, "--n-subscriptions", 5)
    files = [f"--{noun}={tmp_path / noun}.parquet" for noun in ("publications", "subscriptions")]
    told = run(COMMAND, rooms, "replay", "news", *files, "--out", tmp_path / "changes.parquet", "--json")
    assert '"family": "news"' in told
    assert '"engine": "scan"' in told
    # Without a name, the columns tell.
    assert '"family": "news"' in run(COMMAND, rooms, "top", *files, "--json")
