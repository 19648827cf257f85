"""Two pipelines that were stopped in the middle: their rows, their configurations, and what one engine says instead.

`window` was begun by a backfill, so that its state has snapshots of the router and of both zones, and a stream went on
from there. All of its subscriptions come first, and every publication is a step: `skyband replay` tells the same.
`geotext` is a stream from its beginning, in which subscriptions come, go and change size with every batch.
"""

import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet

import skyband
from tests.golden.telling import FOLDER

Row = dict[str, Any]

PIPELINES = FOLDER / "pipelines"
# Rows of each source in a micro-batch, and in a batch of the backfill.
ROWS = 12
# How many batches the backfill had, how many there were when the pipeline was stopped, and how many there are in all.
BACKFILLED, STOPPED, ALL = 3, 7, 12
SECOND = 1_000_000
TEXTS = ["jazz in the park", "rain in the park", "jazz tonight", "tea and rain", "tonight: tea, jazz, park"]
# Sinks are remembered by their absolute paths. This one is the same wherever the archive is unpacked, if the command is
# run in that folder.
HERE = Path("/proc/self/cwd")
# Tests end before the slower of Java's compilers has paid.
SHORT = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
COMMON: Row = {
    "zones": 2,
    "batch": ROWS,
    "state": "state",
    "master": "local[2]",
    "subscriptions": {"format": "log", "path": "in/subscriptions"},
    "publications": {"format": "log", "path": "in/publications"},
    "changes": {"format": "ndjson", "path": str(HERE / "out" / "changes")},
    "tops": {"format": "parquet", "path": str(HERE / "out" / "tops"), "compact_every": 4},
    "spark": SHORT,
}
CONFIGURATIONS: dict[str, Row] = {
    "window": {"family": "window", "engine": "blocks", "dims": 2, "window": "20s", "granularity": "publication"},
    "geotext": {"family": "geotext", "engine": "skype", "window": "20s", "words": "words.json", "bounds": [0, 0, 8, 8]},
}
# The backfill reads what was there before the stream.
HISTORY: Row = {
    "subscriptions": {"format": "log", "path": "history/subscriptions"},
    "publications": {"format": "log", "path": "history/publications"},
}


class Batch(NamedTuple):
    """Commands, then publications."""

    commands: list[Row]
    publications: list[Row]


class Delivered(NamedTuple):
    """What a pipeline has delivered: all changes in their order, and the tops at the end."""

    changes: list[Row]
    tops: list[Row]


def window_batches() -> list[Batch]:
    """All subscriptions in the first batch, and publications in all of them."""
    draw = random.Random("golden window")
    asked = []
    for number in range(20):
        score = ("euclidean", "chebyshev", "sum", "cosine")[number % 4]
        vector = [float(draw.randint(-4, 4)) for _ in range(2)]
        row: Row = {"id": f"s{number}", "k": draw.randint(1, 4), "score": score}
        row["weights" if score == "sum" else "point"] = vector
        asked.append(row | ({"window_us": draw.randint(3, 20) * SECOND} if number % 3 == 0 else {}))
    now, said = 0, []
    for number in range(ALL * ROWS):
        now += draw.choice((0, SECOND, SECOND // 2))
        point = [draw.randint(-16, 16) / 4 for _ in range(2)]
        late = draw.choice((0, 0, 0, 2 * SECOND, 30 * SECOND))
        said.append({"id": f"p{number}", "ts": now - late, "point": point})
    return [Batch([] if i else asked, said[i * ROWS : (i + 1) * ROWS]) for i in range(ALL)]


def geotext_batches() -> list[Batch]:
    """As many commands as publications in every batch; one row of each batch is good for nothing."""
    draw = random.Random("golden geotext")
    batches, standing, n_asked, now = [], ["s0"], 0, 0
    for number in range(ALL):
        commands: list[Row] = []
        while len(commands) < ROWS:
            op = (
                draw.choice(("subscribe", "subscribe", "subscribe", "unsubscribe", "resize"))
                if n_asked
                else "subscribe"
            )
            if op == "subscribe":
                row: Row = {"id": f"s{n_asked}", "k": draw.randint(1, 4), "alpha": draw.choice((0.0, 0.3, 0.7, 1.0))}
                standing += [row["id"]] if n_asked else []
                n_asked += 1
                commands.append(row | _message(draw))
            elif op == "resize":
                commands.append({"op": op, "id": draw.choice(standing), "k": draw.randint(1, 6)})
            elif len(standing) > 4:
                commands.append({"op": op, "id": standing.pop(draw.randrange(len(standing)))})
        publications = []
        for place in range(ROWS):
            now += draw.choice((0, SECOND, SECOND, 2 * SECOND))
            late = draw.choice((0, 0, 0, 3 * SECOND))
            publications.append({"id": f"p{number * ROWS + place}", "ts": now - late} | _message(draw))
        publications[draw.randrange(ROWS)]["x"] = 99.0
        batches.append(Batch(commands, publications))
    return batches


def _message(draw: random.Random) -> Row:
    return {"x": draw.randint(0, 16) / 2, "y": draw.randint(0, 16) / 2, "text": draw.choice(TEXTS)}


BATCHES = {"window": window_batches, "geotext": geotext_batches}


def command(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """Run `skyband` in a folder, which relative paths and `HERE` then mean."""
    told = [sys.executable, "-m", "skyband", *(str(word) for word in words)]
    # What is relative in it means another folder there.
    path = os.pathsep.join(os.path.abspath(name) for name in os.environ.get("PYTHONPATH", "").split(os.pathsep) if name)
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(told, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def succeed(folder: Path, *words: object) -> str:
    """What a command prints that has to end well."""
    done = command(folder, *words)
    assert done.returncode == 0, f"skyband {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout


def append(folder: Path, inlet: str, batches: list[Batch]) -> None:
    """Append the rows of batches to the logs of a pipeline."""
    for noun, place in (("subscriptions", 0), ("publications", 1)):
        rows = [row for batch in batches for row in batch[place]]
        if rows:
            write_rows(folder / "rows.ndjson", rows)
            succeed(folder, "pipeline", "append", f"{inlet}/{noun}", "rows.ndjson")
            (folder / "rows.ndjson").unlink()


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write rows as NDJSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def delivered(folder: Path) -> Delivered:
    """What lies in the folders of the sinks."""
    changes = []
    for path in sorted((folder / "out" / "changes").glob("[0-9]*.ndjson")):
        changes += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    keys = [(row.pop("batch"), row.pop("row")) for row in changes]
    assert keys == sorted(set(keys))
    # A file of tops is named by its batch, and overrules earlier ones for each subscription that it tells of.
    tops: dict[str, list[Row]] = {}
    for path in sorted((folder / "out" / "tops").glob("*.parquet"), key=lambda path: path.stem.split("-")[1]):
        rows = pyarrow.parquet.ParquetFile(path).read().to_pylist()
        tops |= {row["subscription"]: [] for row in rows}
        for row in rows:
            if row["rank"] is not None:
                tops[row["subscription"]].append(row)
    return Delivered(changes, [row for id in sorted(tops) for row in sorted(tops[id], key=lambda row: row["rank"])])


def one_engine(name: str, batches: list[Batch]) -> Delivered:
    """What one engine in this process delivers, given the same batches."""
    given = CONFIGURATIONS[name]
    more: Row = {}
    if name == "geotext":
        more = {"words": skyband.Words.fit_texts(TEXTS), "bounds": skyband.Bounds(*given["bounds"])}
    engine = skyband.open(
        name,
        given["engine"],
        window=given["window"],
        granularity=given.get("granularity", "batch"),
        on_error="collect",
        **more,
    )
    tables = []
    for batch in batches:
        for row in batch.commands:
            op = row.get("op", "subscribe")
            if op == "subscribe":
                tables.append(engine.subscribe([row]))
            else:
                tables.append(engine.resize(row["id"], row["k"]) if op == "resize" else engine.unsubscribe(row["id"]))
        tables.append(engine.publish(batch.publications))
    tops = sorted(engine.top().to_pylist(), key=lambda row: (row["subscription"], row["rank"]))
    return Delivered([row for table in tables for row in table.to_pylist()], tops)


def replayed(folder: Path, batches: list[Batch]) -> list[Row]:
    """The change log of `skyband replay` over all rows of the window pipeline."""
    given = CONFIGURATIONS["window"]
    write_rows(folder / "subscriptions.ndjson", [row for batch in batches for row in batch.commands])
    write_rows(folder / "publications.ndjson", [row for batch in batches for row in batch.publications])
    succeed(
        folder, "replay", "window", "--engine", given["engine"], "--window-us", given["window"],
        "--granularity", given["granularity"], "--publications", "publications.ndjson",
        "--subscriptions", "subscriptions.ndjson", "--out", "changes.ndjson",
    )  # fmt: skip
    lines = (folder / "changes.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write() -> None:
    """Run both pipelines up to where they are stopped, and pack their folders."""
    PIPELINES.mkdir(exist_ok=True)
    for name in CONFIGURATIONS:
        with tempfile.TemporaryDirectory() as folder:
            _run_half(name, Path(folder))
            _pack(Path(folder), PIPELINES / f"{name}.tar.xz")


def _run_half(name: str, folder: Path) -> None:
    batches, begun = BATCHES[name](), 0
    (folder / "pipeline.yaml").write_text(json.dumps(COMMON | CONFIGURATIONS[name], indent=2) + "\n")
    if name == "geotext":
        skyband.Words.fit_texts(TEXTS).save(folder / "words.json")
    else:
        begun = BACKFILLED
        (folder / "history.yaml").write_text(json.dumps(COMMON | CONFIGURATIONS[name] | HISTORY))
        append(folder, "history", batches[:begun])
        (folder / "in" / "subscriptions").mkdir(parents=True)
        succeed(folder, "pipeline", "backfill", "history.yaml", "--batch", ROWS)
    append(folder, "in", batches[begun:STOPPED])
    succeed(folder, "pipeline", "run", "pipeline.yaml", "--until-idle")


def _pack(folder: Path, target: Path) -> None:
    """An archive of what a pipeline goes on with; nobody's name and no time is in it."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(target, "w:xz") as archive:
        for name in ("pipeline.yaml", "words.json", "in", "out", "state"):
            if (folder / name).exists():
                archive.add(folder / name, name, filter=plain)


def unpack(name: str, folder: Path) -> None:
    """Unpack the archive of a pipeline."""
    with tarfile.open(fileobj=io.BytesIO((PIPELINES / f"{name}.tar.xz").read_bytes())) as archive:
        archive.extractall(folder, filter="data")
