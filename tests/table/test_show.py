"""Tables as text."""

import pyarrow as pa
import pytest

from skyband.table import aligned, show


def test_a_table_is_shown_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(pa.table({"who": ["ann", "猫"], "rank": [1, None], "score": [0.5, 12.25]}))
    assert capsys.readouterr().out == "who  rank  score\nann     1    0.5\n猫          12.25\n"


def test_an_empty_table_shows_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(pa.table({"who": pa.array([], pa.string()), "rank": pa.array([], pa.int32())}))
    assert capsys.readouterr().out == "who  rank\n"


def test_lines_do_not_end_in_blanks() -> None:
    assert aligned([["a", "b"], ["ccc", ""]], [False, False]) == ["a    b", "ccc"]
