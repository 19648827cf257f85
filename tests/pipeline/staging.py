"""Staged batches for the tests of sinks, with ids that formats find hard to carry."""

import random
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from skyband.table import change_schema, match_schema, ranking_schema

TEXTS = [
    "ann",
    "",
    "a,b",
    'say "x"',
    "line\nline",
    "\\.",
    "a\n\\.\nb",
    "tab\tcr\r",
    "\\N",
    "null",
    "NaN",
    "zoë 🎷",
    " x ",
]
SCORES = [0.1, -0.0, 1e300, 5e-324, float("inf"), 1 / 3, 2.0]
KEYS = [pa.field("batch", pa.int64(), nullable=False), pa.field("row", pa.int64(), nullable=False)]
TIME = pa.timestamp("us", "UTC")


class Batch(NamedTuple):
    """A batch as a sink is given it, and its rows."""

    number: int
    path: Path
    n_rows: int
    table: pa.Table

    @property
    def given(self) -> tuple[int, Path, int]:
        """The arguments of `deliver`."""
        return self.number, self.path, self.n_rows


def changes_schema(family: str = "window", text: bool = True, timed: bool = False) -> pa.Schema:
    """The columns of staged changes."""
    kind = pa.string() if text else pa.int64()
    if family == "ranked":
        return pa.schema([*KEYS, *match_schema(kind, kind)])
    schema = pa.schema([*KEYS, *change_schema(kind, kind)])
    at = schema.get_field_index("at")
    return schema.set(at, pa.field("at", TIME, nullable=False)) if timed else schema


def tops_schema(text: bool = True) -> pa.Schema:
    """The columns of staged tops, null but for the subscription where a top is empty."""
    kind = pa.string() if text else pa.int64()
    return pa.schema([field.with_nullable(field.name != "subscription") for field in ranking_schema(kind, kind)])


def stage(folder: Path, number: int, table: pa.Table) -> Batch:
    """Write the staged file of a batch."""
    path = folder / f"staged-{number}.parquet"
    pa.parquet.write_table(table, path)
    return Batch(number, path, len(table), table)


def some_changes(folder: Path, number: int, n_rows: int, schema: pa.Schema | None = None) -> Batch:
    """A staged batch of random changes, always the same for its number."""
    schema = changes_schema() if schema is None else schema
    chance = random.Random(number)
    columns = [_cells(field, number, n_rows, chance) for field in schema]
    return stage(folder, number, pa.table(columns, schema=schema))


def some_tops(folder: Path, number: int, schema: pa.Schema | None = None, n_subscriptions: int = 8) -> Batch:
    """A staged batch of random tops of some of the subscriptions, some of them empty."""
    schema = tops_schema() if schema is None else schema
    chance = random.Random(number)
    rows: list[tuple[object, ...]] = []
    for place in sorted(chance.sample(range(n_subscriptions), chance.randint(1, n_subscriptions))):
        subscription = TEXTS[place] if pa.types.is_string(schema.types[0]) else place
        members = [TEXTS[i] if pa.types.is_string(schema.types[2]) else i for i in range(chance.randint(0, 3))]
        rows += [(subscription, i + 1, member, chance.choice(SCORES)) for i, member in enumerate(members)]
        rows += [] if members else [(subscription, None, None, None)]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return stage(folder, number, pa.table(columns, schema=schema))


def tops_after(batches: list[Batch], schema: pa.Schema | None = None) -> pa.Table:
    """The current tops after batches, kept in a dictionary."""
    schema = tops_schema() if schema is None else schema
    tops: dict[object, list[dict[str, object]]] = {}
    for batch in batches:
        rows = batch.table.to_pylist()
        tops |= {row["subscription"]: [] for row in rows}
        for row in rows:
            if row["rank"] is not None:
                tops[row["subscription"]].append(row)
    rows = [row for members in tops.values() for row in members]
    table = pa.Table.from_pylist(rows, schema=schema)
    return table.sort_by([("subscription", "ascending"), ("rank", "ascending")])


def _cells(field: pa.Field, number: int, n_rows: int, chance: random.Random) -> pa.Array:
    if field.name == "batch":
        cells: list[object] = [number] * n_rows
    elif field.name == "row":
        cells = list(range(n_rows))
    elif field.name == "op":
        cells = chance.choices(["enter", "leave", "move"], k=n_rows)
    elif field.name == "rank":
        cells = [chance.randint(1, 9) if not field.nullable or chance.random() < 0.7 else None for _ in range(n_rows)]
    elif field.name == "at":
        cells = [chance.randint(-(10**15), 10**16) for _ in range(n_rows)]
    elif field.name == "first":
        cells = chance.choices([True, False], k=n_rows)
    elif field.name == "score":
        cells = list(chance.choices(SCORES, k=n_rows))
    elif pa.types.is_string(field.type):
        cells = list(chance.choices(TEXTS, k=n_rows))
    else:
        cells = [chance.randint(-(2**63), 2**63 - 1) for _ in range(n_rows)]
    return pa.array(cells, field.type)
