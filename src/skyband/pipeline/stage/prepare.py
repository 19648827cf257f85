"""Prepare: raw rows become typed ones, and a bad row keeps its text and says what is wrong with it.

Rows are judged one by one, in whatever chunks they come: which other rows are in a chunk never matters.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FARTHEST
from skyband.contract.family import FAMILIES, Parse
from skyband.kernels.array import Bools, Int64s
from skyband.kernels.ragged import ranks_of
from skyband.pipeline.source.typed_rows import FORM, PARCEL, from_parcel
from skyband.pipeline.stage.step import PUBLISH, RETRACT
from skyband.pipeline.state.spec import OPS, RAW, Shape
from skyband.table import Settings, WindowKind
from skyband.table.cell import marked
from skyband.table.identity import INTEGER_TEXT
from skyband.table.json_object import json_objects
from skyband.table.sieve import Sieve
from skyband.table.text_file import Reading, read_ndjson, table_of_rows
from skyband.table.typed import restated

HALVED = "the line has half of a character, a surrogate without its other half"
TOO_FAR = "lies beyond ±2**61 microseconds"
WITH_NUL = "an id must not hold the character NUL, which databases cannot store"


class Good(NamedTuple):
    """Rows that can be used: their places among the raw rows, what they ask for, and the rows."""

    places: Int64s
    op: str
    table: pa.Table


class Fault(NamedTuple):
    """One row that cannot be used: its place among the raw rows, and why."""

    place: int
    reason: str


def prepare_rows(raw: pa.Table, shape: Shape) -> pa.Table:
    """Typed rows for raw ones, in the same order; see `Shape.prepared` for the columns."""
    good: list[Good] = []
    faults: list[Fault] = []
    noun, form = (raw[name].combine_chunks() for name in ("noun", "form"))
    for its_noun in ("subscriptions", "publications"):
        for its_form in ("json", "cells"):
            at = pc.and_(pc.equal(noun, its_noun), pc.equal(form, its_form))
            places = np.flatnonzero(at.to_numpy(zero_copy_only=False)).astype(np.int64)
            if len(places):
                values = raw["value"].combine_chunks().take(pa.array(places))
                halved = _halved(values)
                faults += [Fault(int(place), HALVED) for place in places[halved]]
                values, places = values.filter(pa.array(~halved)), places[~halved]
            if len(places):
                reading = _read(values, its_form)
                faults += [Fault(int(places[fault.row - 1]), _why(fault)) for fault in reading.rejects]
                judged = _subscribed if its_noun == "subscriptions" else _published
                for part in judged(reading.table, places[reading.row_numbers - 1], shape):
                    if isinstance(part, Fault):
                        faults.append(part)
                    else:
                        good.append(part)
    return _assembled(raw, good, faults, shape)


def prepare_packed(raw: pa.Table, shape: Shape) -> Iterator[pa.Table]:
    """Typed rows for raw ones, of which some may stand for many rows: those are typed already, and only checked."""
    if PARCEL not in raw.column_names:
        yield prepare_rows(raw.select(RAW.names).cast(RAW), shape)
        return
    is_packed = pc.equal(raw["form"], FORM)
    alone = raw.filter(pc.invert(is_packed)).select(RAW.names).cast(RAW)
    if len(alone):
        yield prepare_rows(alone, shape)
    packed = raw.filter(is_packed)
    places = (packed[name].to_pylist() for name in ("noun", "origin", "offset"))
    for noun, origin, first, parcel in zip(*places, packed[PARCEL], strict=True):
        yield _prepare_typed(from_parcel(parcel), noun, origin, first, shape)


def _prepare_typed(rows: pa.Table, noun: str, origin: str, first: int, shape: Shape) -> pa.Table:
    """Typed rows; those that are not good are judged again as JSON objects, which then say what is wrong with them."""
    judged = _subscribed if noun == "subscriptions" else _published
    places = np.arange(len(rows))
    good = [part for part in judged(rows, places, shape) if isinstance(part, Good)]
    labelled = partial(_labelled, noun, origin, first)
    found = _assembled(labelled(places, pa.nulls(len(rows), pa.string())), good, [], shape)
    bad = np.setdiff1d(places, np.concatenate([places[:0], *(part.places for part in good)]))
    if not len(bad):
        return found
    again = prepare_rows(labelled(bad, json_objects(rows.take(pa.array(bad)))), shape)
    kept = np.setdiff1d(places, bad)
    order = np.argsort(np.concatenate([kept, bad]))
    return pa.concat_tables([found.take(pa.array(kept)), again]).take(pa.array(order))


def _labelled(noun: str, origin: str, first: int, places: Int64s, texts: pa.Array) -> pa.Table:
    """Raw rows with these texts, at these places after the first."""
    n = len(places)
    labels = [pa.repeat(pa.scalar(text), n) for text in (noun, origin)]
    return pa.Table.from_arrays([*labels, pa.array(first + places), pa.repeat(pa.scalar("json"), n), texts], schema=RAW)


def _halved(values: pa.Array) -> Bools:
    """Which rows write half of a character, as JSON can: no text has that, so that nothing could be made of it."""
    suspect = pc.fill_null(pc.match_substring_regex(values, r"\\u[dD][89a-fA-F]"), False)
    found = np.asarray(suspect.to_numpy(zero_copy_only=False), np.bool_).copy()
    for place in np.flatnonzero(found).tolist():
        try:
            json.dumps(json.loads(values[place].as_py()), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            continue
        except (ValueError, RecursionError):
            # What else is wrong with it is found when it is read.
            pass
        found[place] = False
    return found


def _why(fault: Any) -> str:
    return f"{fault.column}: {fault.reason}" if fault.column else str(fault.reason)


def _read(values: pa.Array, form: str) -> Reading:
    if form == "cells":
        rows = [json.loads(value) for value in values.to_pylist()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = [pa.array([row.get(name) for row in rows], pa.string()) for name in names]
        table = pa.Table.from_arrays(columns, schema=pa.schema([marked(name, "csv") for name in names]))
        return Reading(table if names else pa.table({"id": pa.nulls(len(rows))}), [], np.arange(1, len(rows) + 1))
    # A line break within a JSON document is white space; here one ends a row. Nothing at all is not a row either.
    lines = pc.replace_substring_regex(pc.fill_null(values, "[]"), r"[\r\n]", " ")
    lines = pc.if_else(pc.equal(pc.utf8_trim_whitespace(lines), ""), "[]", lines)
    reading = read_ndjson(_joined(lines))
    if not reading.table.num_columns:
        return reading._replace(table=table_of_rows([{"id": None}] * len(reading.row_numbers)))
    return reading


def _joined(lines: pa.Array) -> bytes:
    """All of them as one text, each a line of its own."""
    listed = pa.LargeListArray.from_arrays(pa.array([0, len(lines)]), lines.cast(pa.large_string()))
    text: bytes = pc.binary_join(listed, pa.scalar("\n", pa.large_string()))[0].as_buffer().to_pybytes()
    return text


def _published(table: pa.Table, places: Int64s, shape: Shape) -> Iterator[Good | Fault]:
    family = FAMILIES[shape.family]
    assert family.parse_publications is not None
    for op, rows, at in _by_op(table, places, PUBLISH):
        if op != RETRACT:
            # Whether there is such an op is for the family to say.
            yield from _parsed(rows, at, family.parse_publications, shape.publications(), PUBLISH, shape)
        elif family.has_retractions:
            # Whatever else stands there does not matter.
            rows = rows.select([name for name in rows.column_names if name in ("id", "ts", "op")])
            yield from _parsed(rows, at, _parse_for(op, shape.family), shape.publications(), op, shape)
        else:
            why = f"op: publications of the family {shape.family} cannot be retracted"
            yield from (Fault(int(place), why) for place in at)


def _subscribed(table: pa.Table, places: Int64s, shape: Shape) -> Iterator[Good | Fault]:
    for op, rows, at in _by_op(table, places, "subscribe"):
        if op == "subscribe":
            parse = FAMILIES[shape.family].parse_subscriptions
            yield from _parsed(rows, at, parse, shape.subscriptions(), op, shape)
        elif op in OPS:
            yield from _parsed(rows, at, _parse_for(op, shape.family), shape.subscriptions(), op, shape)
        else:
            yield from (Fault(int(place), f"op: {op!r} is not one of {', '.join(OPS)}") for place in at)


def _by_op(table: pa.Table, places: Int64s, usual: str) -> Iterator[tuple[str, pa.Table, Int64s]]:
    """The rows that ask for the same, and their places; a row that does not say what it asks for asks for the usual."""
    if "op" not in table.column_names:
        yield usual, table, places
        return
    sieve = Sieve(table, "rows")
    column = sieve.array("op")
    if column.type != pa.string() or sieve.mark("op") is not None:
        # What else stands there asks for nothing that there is, and is told by its name.
        values = sieve.values("op")
        column = pa.array([op if op is None or isinstance(op, str) else str(op) for op in values], pa.string())
    codes = pc.fill_null(column, usual).dictionary_encode()
    of = codes.indices.to_numpy(zero_copy_only=False)
    for number, op in enumerate(codes.dictionary.to_pylist()):
        chosen = np.flatnonzero(of == number)
        yield op, table.take(pa.array(chosen)), places[chosen]


class _Request(NamedTuple):
    """What a command says besides its id."""

    ids: Any


def _parse_for(op: str, family: str) -> Parse:
    """A reader of commands, which ask for less than a whole subscription does."""
    from skyband.table.instant import instants, times
    from skyband.table.sieve import Parsed
    from skyband.table.subscription import ks

    def parse(table: pa.Table, settings: Settings) -> Parsed[Any]:
        sieve = Sieve(table, op)
        if op in ("advance", RETRACT):
            moments = instants(sieve) if op == "advance" else times(sieve, "ts").values
            sieve.reject(np.abs(moments) > FARTHEST, "ts", TOO_FAR)
        if op == "resize":
            none = np.full(sieve.n_rows, not FAMILIES[family].has_k)
            sieve.reject(none, "op", f"subscriptions of the family {family} have no k of their own to change")
            ks(sieve)
        ids = sieve.array("id")
        return sieve.done(_Request(sieve.keep_arrow(ids)))

    return parse


def _parsed(
    table: pa.Table, places: Int64s, parse: Parse, schema: pa.Schema, op: str, shape: Shape
) -> Iterator[Good | Fault]:
    """The rows that the family can read and the faults of the others, round by round while ids recur."""
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field.name, pa.nulls(table.num_rows))
    bad = np.zeros(table.num_rows, np.bool_)
    if op == "advance":
        # Whatever stands there for an id, time has none.
        nobody = pa.nulls(table.num_rows, schema.field("id").type)
        table = table.set_column(table.column_names.index("id"), "id", nobody)
    for name, kind in (("id", schema.field("id").type), ("object", _type_of(schema, "object"))):
        if kind is not None and not (op == "advance" and name == "id"):
            column, reasons = _ids(table, name, kind)
            yield from (Fault(int(places[i]), f"{name}: {why}") for i, why in reasons.items() if not bad[i])
            bad[list(reasons)] = True
            with_nul = np.flatnonzero(_has_nul(column) & ~bad)
            yield from (Fault(int(places[i]), f"{name}: {WITH_NUL}") for i in with_nul)
            bad[with_nul] = True
            table = table.set_column(table.column_names.index(name), name, column)
    kept = np.flatnonzero(~bad)
    for chosen in rounds(table["id"].combine_chunks(), kept, unique=op not in ("advance", RETRACT)):
        rows = table.take(pa.array(chosen))
        found = parse(rows, shape.settings)
        yield from (Fault(int(places[chosen[fault.row - 1]]), _why(fault)) for fault in found.rejects)
        beyond = _too_wide(found.rows, shape.settings) if op == "subscribe" else _too_far(found.rows)
        yield from (Fault(int(places[chosen[found.kept[i]]]), why) for i, why in beyond.items())
        good = np.setdiff1d(np.arange(len(found.kept)), np.array(list(beyond), np.int64))
        if len(good):
            whole = restated(rows.take(pa.array(found.kept)), found.rows, schema)
            yield Good(places[chosen[found.kept[good]]], op, whole.take(pa.array(good)))


def _type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    return schema.field(name).type if name in schema.names else None


def _ids(table: pa.Table, name: str, kind: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """A column of ids as the pipeline has them, and what is wrong with which of them."""
    sieve = Sieve(table, "rows")
    array, mark, wanted = sieve.array(name), sieve.mark(name), "integers" if kind == pa.int64() else "text"
    if array.null_count == 0 and mark is None and array.type == kind:
        return array, {}
    if mark == "csv":
        values: list[Any] = array.to_pylist()
        if kind == pa.int64():
            whole = pc.fill_null(pc.match_substring_regex(array, INTEGER_TEXT), False).to_pylist()
            values = [int(value) if is_whole else value for value, is_whole in zip(values, whole, strict=True)]
    else:
        values = sieve.values(name)
    plain, reasons = [], {}
    for i, value in enumerate(values):
        fits = isinstance(value, str if kind == pa.string() else int) and not isinstance(value, bool)
        if fits and (kind == pa.string() or -(2**63) <= value < 2**63):
            plain.append(value)
            continue
        reasons[i] = (
            f"{name} must not be null" if value is None else f"ids of this pipeline are {wanted}, not {value!r}"
        )
        plain.append("" if kind == pa.string() else 0)
    return pa.array(plain, kind), reasons


def _has_nul(ids: pa.Array) -> Bools:
    if ids.type != pa.string():
        return np.zeros(len(ids), np.bool_)
    return np.asarray(pc.match_substring(ids, "\0").to_numpy(zero_copy_only=False), np.bool_)


def rounds(ids: pa.Array, kept: Int64s, unique: bool) -> Iterator[Int64s]:
    """The rows in as many parts as the most frequent id has rows: parsers refuse an id that occurs twice."""
    if not unique or not len(kept):
        if len(kept):
            yield kept
        return
    chosen = ids.take(pa.array(kept))
    codes = chosen.dictionary_encode()
    if len(codes.dictionary) == len(kept):
        yield kept
        return
    order = np.argsort(codes.indices.to_numpy(zero_copy_only=False), kind="stable")
    sorted_codes = codes.indices.to_numpy(zero_copy_only=False)[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    nth = np.empty(len(kept), np.int64)
    nth[order] = ranks_of(np.diff(starts, append=len(kept)))
    for number in range(int(nth.max()) + 1):
        yield kept[nth == number]


def _too_wide(rows: Any, settings: Settings) -> dict[int, str]:
    """Subscriptions whose windows reach beyond what the pipeline remembers."""
    if "window" not in rows._fields or settings.window.kind == WindowKind.UNBOUNDED:
        return {}
    kinds, sizes = rows.window
    names = {WindowKind.TIME: "window_us", WindowKind.COUNT: "window_n", WindowKind.UNBOUNDED: "window_us"}
    own = settings.window
    bad = np.flatnonzero((kinds != own.kind) | (sizes > own.size))
    said = f"{own.size} {'microseconds' if own.kind == WindowKind.TIME else 'publications'}"
    return {
        int(i): f"{names[WindowKind(int(kinds[i]))]}: the window must be within that of the pipeline, {said}"
        for i in bad
    }


def _too_far(rows: Any) -> dict[int, str]:
    """Publications at a time that no engine takes."""
    if "ts" not in rows._fields:
        return {}
    return {int(i): f"ts: {TOO_FAR}" for i in np.flatnonzero(np.abs(rows.ts) > FARTHEST)}


def _assembled(raw: pa.Table, good: list[Good], faults: list[Fault], shape: Shape) -> pa.Table:
    n = raw.num_rows
    schema = shape.prepared()
    ops = np.full(n, -1, np.int64)
    for number, part in enumerate(good):
        ops[part.places] = number
    # Of several faults the last one is told.
    told = {fault.place: fault.reason for fault in faults}
    reasons = np.full(n, -1, np.int64)
    reasons[list(told)] = np.arange(len(told))
    bad = reasons >= 0
    spoken = (PUBLISH, RETRACT)
    asked = _placed([part for part in good if part.op not in spoken], n, schema.field("asked").type)
    said = _placed([part for part in good if part.op in spoken], n, schema.field("said").type)
    texts = pc.if_else(pa.array(bad), raw["value"].combine_chunks(), pa.nulls(n, pa.string()))
    words = pa.array([part.op for part in good], pa.string()).take(pa.array(ops, mask=ops < 0))
    why = pa.array(list(told.values()), pa.string()).take(pa.array(reasons, mask=~bad))
    columns = [raw["noun"], raw["origin"], raw["offset"], words, asked, said]
    return pa.Table.from_arrays([*columns, texts, why], schema=schema)


def _placed(parts: Iterable[Good], n: int, kind: pa.StructType) -> pa.Array:
    """One entry for each raw row, null where no good row stands."""
    listed = list(parts)
    if not listed:
        return pa.nulls(n, kind)
    table = pa.concat_tables([part.table for part in listed]).combine_chunks()
    structs = pa.StructArray.from_arrays(
        [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in table.columns],
        fields=list(kind),
    )
    index = np.full(n, -1, np.int64)
    places = np.concatenate([part.places for part in listed])
    index[places] = np.arange(len(places))
    return structs.take(pa.array(index, mask=index < 0))
