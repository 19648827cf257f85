"""CSV files that other readers find hard: long cells and names, NUL bytes, quotation marks, marks and line ends."""

import csv
from pathlib import Path

import pytest

from skyband.contract.reading import read_publications
from skyband.table import MissingColumn, Reject, UnreadableFile

LONG = 200_000
ROWS = "id,ts,point\n1,1,[1.0]\n"


def written(folder: Path, data: str | bytes) -> Path:
    path = folder / "rows.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_cells_of_any_length_are_read(tmp_path: Path) -> None:
    long = "x" * LONG
    rows = read_publications("window", written(tmp_path, f"id,ts,point\n{long},1,[1.0]\n"))
    assert rows.parsed.rows.ids.to_pylist() == [long]


def test_names_of_any_length_are_read(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    rows = read_publications("window", written(tmp_path, f"id,ts,point,{'y' * LONG}\n1,1,[1.0],2\n"))
    assert rows.parsed.rows.ids.to_pylist() == [1]
    assert csv.field_size_limit() == limit


def test_a_long_cell_of_the_wrong_kind_rejects_its_row_alone(tmp_path: Path) -> None:
    path = written(tmp_path, f"{ROWS}2,2,{'x' * LONG}\n3,3,[1.0]\n")
    rows = read_publications("window", path, on_error="collect")
    assert rows.parsed.rows.ids.to_pylist() == [1, 3]
    [reject] = rows.rejects
    assert (reject.row, reject.column, reject.reason) == (2, "point", "point must be a list of numbers")


@pytest.mark.parametrize("header", ["x" * LONG, '"id,ts,point\n' + "1,1,[1.0]\n" * LONG + '",z'])
def test_a_header_that_is_none_is_told_in_few_words(header: str, tmp_path: Path) -> None:
    with pytest.raises(MissingColumn, match=r'need the column "id" \(columns found: ') as raised:
        read_publications("window", written(tmp_path, f"{header}\n1,1,[1.0]\n"))
    assert len(str(raised.value)) < 500
    assert str(raised.value).isprintable()


def test_a_row_with_a_nul_byte_is_rejected(tmp_path: Path) -> None:
    path = written(tmp_path, f"{ROWS}a,b\n\0b,2,[1.0]\n3,\0,\0\n4,4,[1.0]\n")
    rows = read_publications("window", path, on_error="collect")
    assert rows.parsed.rows.ids.to_pylist() == [1, 4]
    assert rows.rejects == [
        Reject(2, "", "'a,b'", "the row has 2 cells where the header has 3"),
        Reject(3, "id", r"'\x00b'", "the cell holds a NUL byte"),
        Reject(4, "ts", r"'\x00'", "the cell holds a NUL byte"),
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (ROWS.encode("utf-16-le"), "has NUL bytes in its header: it may be UTF-16, and should be UTF-8"),
        (ROWS.encode("utf-16"), "is not UTF-8 text"),
        (ROWS.encode() + b"\xed\xa0\x80,2,[1.0]\n", "is not UTF-8 text"),
        (ROWS + '2,2,"[1.0]\n' + "3,3,[1.0]\n" * LONG, "has a quotation mark that is never closed"),
        ("id,ts,point,ts\n1,1,[1.0],1\n", 'has two columns named "ts"'),
        ("\n\r\n", "is empty; a CSV file begins with a header"),
    ],
    ids=["UTF-16-LE", "UTF-16", "surrogate", "open quotation mark", "twice", "blank"],
)
def test_what_is_no_csv_file_is_said(data: str | bytes, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=sentence):
        read_publications("window", written(tmp_path, data), on_error="collect")


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + ROWS.encode(),
        ROWS.replace("\n", "\r"),
        ROWS.replace("\n", "\r\n"),
        "\r\n\n" + ROWS,
        ROWS.strip(),
        '"id","ts",point\n1,1,"[1.0]"\n',
        '"id","ts",point,"say ""x"",\r\ny"\n1,1,[1.0],\n',
    ],
    ids=["mark", "CR", "CRLF", "blank first", "no last line end", "quoted", "quoted name"],
)
def test_marks_line_ends_and_quotation_marks(data: str | bytes, tmp_path: Path) -> None:
    rows = read_publications("window", written(tmp_path, data))
    assert rows.parsed.rows.ids.to_pylist() == [1]
    assert rows.parsed.rows.points.tolist() == [[1.0]]


def test_an_integer_of_too_many_digits_is_reported_as_it_is_found(tmp_path: Path) -> None:
    digits = "9" * LONG
    rows = read_publications("window", written(tmp_path, f"{ROWS}2,{digits},[1.0]\n"), on_error="collect")
    [reject] = rows.rejects
    assert (reject.row, reject.column) == (2, "ts")
    assert reject.value.startswith("'999")
