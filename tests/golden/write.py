"""Store digests, snapshots or pipelines anew: `python -m tests.golden.write digests`, `snapshots` or `pipelines`.

Do so only where answers are meant to change, or where an engine or a mode is new: what is stored is what later commits
are held against.
"""

import sys

import skyband
from tests.golden import pipelines
from tests.golden.halves import FILE, interrupted, place, rest, snapshot_entries, tell_rest
from tests.golden.telling import DIGESTS, Digests, all_entries, engines, load, store, tell


def write_digests() -> None:
    """Store the digests of every engine and mode."""
    store(DIGESTS, {key: tell(entry).digests() for key, entry in all_entries(engines()).items()})


def write_snapshots() -> None:
    """Store snapshots, the answers of the engines that were not interrupted, and the costs of those that were.

    A snapshot that is there stays: old ones have to be read for ever. To have one anew, remove its folder.
    """
    told = load(FILE)
    for key, entry in snapshot_entries(engines()).items():
        if place(entry).exists():
            continue
        engine = interrupted(entry)
        engine.snapshot(place(entry))
        answers = tell_rest(engine, rest(entry)).answers
        restored = tell_rest(skyband.restore(place(entry)), rest(entry))
        if restored.answers != answers:
            print(f"{key}: the restored engine answers otherwise than the one that went on.")
        told[key] = Digests(answers, restored.costs)
    store(FILE, told)


WRITERS = {"digests": write_digests, "snapshots": write_snapshots, "pipelines": pipelines.write}


if __name__ == "__main__":
    for word in sys.argv[1:]:
        WRITERS[word]()
