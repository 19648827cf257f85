"""Which snapshots are kept, and what an engine is told before and after its snapshot."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.golden.streams import Action, Entry
from tests.golden.telling import FOLDER, Digests, Telling, begin, finish, run

SNAPSHOTS = FOLDER / "snapshots"
FILE = SNAPSHOTS / "digests.json"

# The modes in which every engine of a family wrote a snapshot, and options of one engine with its mode.
MODES = {
    "window": ("time publication",),
    "geotext": ("texts",),
    "ranges": ("1d publication",),
    "ranked": ("relaxed",),
    "covering": ("2d",),
}
MORE: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {
    ("window", "blocks"): [("20d time batch", {}), ("count batch", {"index": "grid"})],
    ("window", "sasf"): [("count batch", {"b": 3, "index": "blocks"})],
    ("window", "kmax"): [("count batch", {"kmax": 1.5})],
    ("geotext", "skype"): [("count publication", {"capacity": 2, "groups": 3})],
    ("ranges", "paint"): [("2d batch", {}), ("1.5d batch", {"shape": "1.5", "algorithm": "dense"})],
    ("ranked", "scored"): [("exact publication", {"delta": 4}), ("relaxed emphasis", {"delta": 4})],
    ("covering", "coverset"): [("2d domain", {"search": "greedy", "epsilon": 0.1, "bits": 5})],
}


def snapshot_entries(engines: Iterable[tuple[str, str]]) -> dict[str, Entry]:
    """The entries of these engines that a snapshot is kept of, by their names."""
    found = []
    for family, engine in engines:
        found += [Entry(family, engine, mode, {}) for mode in MODES[family]]
        found += [Entry(family, engine, mode, options) for mode, options in MORE.get((family, engine), [])]
    return {entry.key: entry for entry in found}


def place(entry: Entry) -> Path:
    """The folder of the snapshot of an entry."""
    _, _, *mode = entry.key.split("/")
    return SNAPSHOTS / f"{entry.family}-{entry.engine}" / re.sub(r"[^a-z0-9.]+", "-", " ".join(mode))


def _halves(entry: Entry) -> tuple[list[Action], list[Action]]:
    """A stream in two; a restored engine begins anew to tell which gates have changed."""
    actions = [action for action in entry.stream().actions if action[0] not in ("snapshot", "gate_changes")]
    return actions[: len(actions) // 2], actions[len(actions) // 2 :]


def interrupted(entry: Entry) -> Any:
    """An engine that has gone through the first half of its stream."""
    engine = run(begin(entry.stream(), entry.engine, entry.options), _halves(entry)[0], Telling())
    # A snapshot does not keep them.
    engine.rejects.clear()
    return engine


def rest(entry: Entry) -> list[Action]:
    """The second half of the stream of an entry."""
    return _halves(entry)[1]


def tell_rest(engine: Any, actions: list[Action]) -> Digests:
    """The digests of what an engine says to the rest of a stream."""
    telling = Telling()
    return finish(run(engine, actions, telling), telling)
