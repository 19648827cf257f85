"""Schemas of answers."""

import pyarrow as pa

from skyband.table import Op, change_schema, match_schema, ranking_schema


def test_schemas_follow_the_id_types() -> None:
    changes = change_schema(pa.int64(), pa.string())
    assert changes.names == ["subscription", "publication", "op", "score", "rank", "at", "first"]
    assert (changes.field("subscription").type, changes.field("publication").type) == (
        pa.int64(),
        pa.string(),
    )
    assert [field.name for field in changes if field.nullable] == ["rank"]
    assert ranking_schema(pa.int64(), pa.int64()).names == ["subscription", "rank", "publication", "score"]
    assert match_schema(pa.string(), pa.int64()).names == ["event", "subscription", "score", "rank"]


def test_ops_are_words() -> None:
    assert [str(op) for op in Op] == ["enter", "leave", "move"]
