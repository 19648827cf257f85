"""What an engine says to a stream, as text that is the same in every process, and the digests of that text.

There are two texts. The *answers* are what the contract promises: changes, matches, tops, rejects and refusals. The
*costs* are what an engine may do in its own way: counters, gates of times to come, messages, which box covers another.
A digest is kept of each, so that a failing test says which of the two is another one. `python -m tests.golden.telling
ENTRY` prints both texts, to be compared with those of another commit.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import skyband
from tests.golden.streams import Action, Entry, Stream, entries

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.json"
COVERING = ("covering", "coverset")


class Digests(NamedTuple):
    """A digest of each text, as hexadecimal digits."""

    answers: str
    costs: str


def load(path: Path) -> dict[str, Digests]:
    """The digests in a file, by entry."""
    return {key: Digests(**told) for key, told in json.loads(path.read_text(encoding="utf-8")).items()}


def store(path: Path, told: dict[str, Digests]) -> None:
    """Write digests to a file, by entry."""
    plain = {key: digests._asdict() for key, digests in told.items()}
    path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


class Telling:
    """Both texts, line by line as the stream goes on."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.costs: list[str] = []

    def digests(self) -> Digests:
        """The digests of all that was told so far."""
        return Digests(*(hashlib.sha256("\n".join(lines).encode()).hexdigest() for lines in (self.answers, self.costs)))


def table_text(table: Any) -> str:
    """The names, types and values of the columns of an Arrow table; floats as Python writes them, to the last bit."""
    return "; ".join(f"{field.name}: {field.type} {table[field.name].to_pylist()!r}" for field in table.schema)


def begin(stream: Stream, engine: str, options: dict[str, Any]) -> Any:
    """An empty engine, or cover set, for a stream."""
    opened = stream.opened | options
    return skyband.CoverSet(**opened) if stream.family == "covering" else skyband.open(stream.family, engine, **opened)


def run(engine: Any, actions: Iterable[Action], telling: Telling) -> Any:
    """Let the engine take all actions; returns the one it ends with, which is another one after a snapshot."""
    for verb, argument in actions:
        if verb == "snapshot":
            engine = _restored(engine, telling)
            continue
        try:
            answer = _taken(engine, verb, argument, telling)
        except ValueError as refused:
            telling.answers.append(f"{verb} refused: {refused}")
        else:
            if answer is not None:
                telling.answers.append(f"{verb} {table_text(answer)}")
    return engine


def finish(engine: Any, telling: Telling) -> Digests:
    """Note what is left to say at the end; the digests of everything."""
    _note_end(engine, telling)
    return telling.digests()


def tell(entry: Entry) -> Telling:
    """All that the engine of an entry says to its stream."""
    stream, telling = entry.stream(), Telling()
    finish(run(begin(stream, entry.engine, entry.options), stream.actions, telling), telling)
    return telling


def _taken(engine: Any, verb: str, argument: Any, telling: Telling) -> Any:
    """The answer to an action; None where it is one of the costs."""
    if verb == "publish" and hasattr(engine, "messages"):
        notified = engine.messages(argument)
        telling.costs.append(f"messages {table_text(notified.messages)}")
        return notified.changes
    if verb == "resize":
        return engine.resize(*argument)
    if verb == "gates":
        # As of now all exact engines say the same.
        telling.costs.append(f"gates {table_text(engine.gates(at=argument))}")
        return engine.gates()
    if verb == "staircase":
        telling.costs.append(f"staircase {table_text(engine.staircase())}")
        return None
    answer = getattr(engine, verb)() if verb in ("gate_changes", "uncovered") else getattr(engine, verb)(argument)
    if "covered_by" not in answer.column_names:
        return answer
    # Of several that cover a box any may be named; whether there is one is promised.
    telling.costs.append(f"{verb} {table_text(answer)}")
    place = answer.column_names.index("covered_by")
    return answer.set_column(place, "is_covered", answer["covered_by"].is_valid())


def _restored(engine: Any, telling: Telling) -> Any:
    _note_end(engine, telling)
    with tempfile.TemporaryDirectory() as folder:
        engine.snapshot(Path(folder) / "state")
        return skyband.restore(Path(folder) / "state")


def _note_end(engine: Any, telling: Telling) -> None:
    """What an engine has counted; a snapshot does not keep rejects, and not all that is counted besides."""
    telling.answers.append(f"rejects {[tuple(reject) for reject in engine.rejects]!r}")
    told = {
        name: getattr(engine, name) for name in ("counters", "index_counters", "row_length") if hasattr(engine, name)
    }
    telling.costs.append(json.dumps(told, sort_keys=True))


def engines() -> list[tuple[str, str]]:
    """Family and name of every engine that `skyband engines` lists, and of the cover set."""
    command = [sys.executable, "-m", "skyband", "engines", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [*((row["family"], row["engine"]) for row in listed), COVERING]


def all_entries(listed: Iterable[tuple[str, str]]) -> dict[str, Entry]:
    """Every entry of these engines, by its name."""
    return {entry.key: entry for family, name in listed for entry in entries(family, name)}


def main(key: str) -> None:
    """Print what the engine of an entry says."""
    telling = tell(all_entries(engines())[key])
    print(*telling.answers, "", *telling.costs, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
