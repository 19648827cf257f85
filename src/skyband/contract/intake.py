"""Taking in batches: parsed, checked, and refused as a whole or row by row.

A batch with a bad row raises `Rejected` and changes nothing; with `on_error="collect"` the good rows are applied and
the bad ones are added to `rejects`.
"""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.contract.checked import Checked, Given, numbered
from skyband.contract.family import Parse, ReadFew
from skyband.contract.handle import Handle
from skyband.contract.rows import take
from skyband.kernels.array import Bools
from skyband.kernels.id_list import INTEGERS, TEXTS, AnyIds, IdList, arrow_ids
from skyband.table import OnError, Parsed, Reject, Rejected, Settings, read_table, shorten
from skyband.table.answer_rows import rows_of_answer, table_of_answer
from skyband.table.argument import check_choice, is_data_frame, is_integer
from skyband.table.identity import ids as read_ids
from skyband.table.instant import FARTHEST
from skyband.table.memory import table_of
from skyband.table.plain import FEW, Doubtful, few_rows, plain_ids
from skyband.table.sieve import Sieve

# What is answered with rows: rows and ids of Python.
PythonRows: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
PythonIds: TypeAlias = int | str | Sequence[int] | Sequence[str] | Set[int] | Set[str]
Ids = PythonIds | Any  # or an Arrow array, which has no types to name

_ID_COLUMNS = (("id", "ids"), ("object", "objects"))

NOT_HERE = "publish takes no retractions; give the id to the verb retract"

# The numbers of few rows.
_NUMBERS = np.arange(1, FEW + 1)
# Ids of Python that may go the short way.
_PLAIN_IDS = (int, str, list)
# What holds columns, or is a file, is answered with a table, and all else, which is rows or ids of Python, with rows.
_COLUMNS = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray, pa.Scalar, np.ndarray, os.PathLike, Checked)


class Intake(Handle, ABC):
    """Whatever takes subscriptions by their ids: what it knows of their columns, its rejects and its counters.

    One that `takes_id_lists` is given the ids of few plain rows as an `IdList`, and all others as Arrow arrays.
    """

    takes_id_lists: ClassVar[bool] = False

    def __init__(self, settings: Settings | None = None, *, on_error: OnError = "raise") -> None:
        check_choice("on_error", on_error, OnError)
        if not isinstance(settings, Settings | None):
            raise ValueError(f"settings is a skyband.table.Settings, not {shorten(settings)}.")
        self.settings = settings or Settings()
        self.on_error: OnError = on_error
        self.rejects: list[Reject] = []
        self._counters: Counter[str] = Counter()
        self._id_types: dict[str, pa.DataType] = {}

    @property
    def counters(self) -> dict[str, int]:
        """What the work has cost so far, by name."""
        return dict(sorted(self._counters.items()))

    @abstractmethod
    def _registered(self, ids: AnyIds) -> Bools:
        """For each id, whether a subscription has it."""

    def _id_type(self, column: str) -> pa.DataType:
        """The type of an id column: what came first, or text while nothing has."""
        return self._id_types.get(column, pa.string())

    def _parse(self, source: Given, parse: Parse, read: ReadFew | None = None) -> Parsed[Any]:
        """The rows of a source, with `kept` and the rejects counted as the source counts its rows, from 1.

        Few plain rows are read by `read`, where there is such a reader, and are the same as if they had been parsed.
        """
        if isinstance(source, Checked):
            return source.parsed_for(parse, self.settings)
        few = few_rows(source) if read is not None else None
        if few is not None and read is not None:
            try:
                return Parsed(self._with_ids(read(few, self.settings)), _NUMBERS[: len(few)], [])
            except Doubtful:
                pass
        reading = read_table(source)
        return numbered(reading, parse(reading.table, self.settings))

    def _with_ids(self, rows: Any) -> Any:
        """Few plain rows with their ids in the form that is taken here."""
        if self._takes_id_lists:
            return rows
        columns = (name for _, name in _ID_COLUMNS if name in rows._fields)
        # Words are ids as well.
        names = [*columns, *(name for name in ("terms",) if name in rows._fields)]
        return rows._replace(**{name: arrow_ids(getattr(rows, name)) for name in names})

    @property
    def _takes_id_lists(self) -> bool:
        return self.takes_id_lists

    def _admit(self, parsed: Parsed[Any], what: str, taken: Bools, why: str) -> Any:
        ids = parsed.rows.ids
        if isinstance(ids, IdList) and True not in taken.tolist():
            # All else that may be wrong with them would have been doubtful.
            self._same_type(f"{what} id", ids.type)
            self._id_types[f"{what} id"] = ids.type
            return parsed.rows
        rejects = list(parsed.rejects)
        rejects += [Reject(int(row), "op", shorten("retract"), NOT_HERE) for row in parsed.left_out]
        rejects += self._refuse(parsed, "id", ids, taken, why)
        bad = taken.copy()
        if "ts" in parsed.rows._fields:
            far = np.abs(parsed.rows.ts) > FARTHEST
            rejects += self._refuse(parsed, "ts", parsed.rows.ts, far & ~bad, "lies beyond ±2**61 microseconds")
            bad |= far
        columns = [(column, name) for column, name in _ID_COLUMNS if len(ids) and name in parsed.rows._fields]
        for column, name in columns:
            self._same_type(f"{what} {column}", getattr(parsed.rows, name).type)
        self._handle(rejects, what)
        kept = np.flatnonzero(~bad)
        for column, name in columns if len(kept) else ():
            self._id_types[f"{what} {column}"] = INTEGERS if getattr(parsed.rows, name).type == INTEGERS else TEXTS
        return parsed.rows if len(kept) == len(ids) else take(parsed.rows, kept)

    @staticmethod
    def _refuse(parsed: Parsed[Any], column: str, values: Any, bad: Bools, why: str) -> list[Reject]:
        at = np.flatnonzero(bad).tolist()
        plain = arrow_ids(values).to_pylist() if at and column == "id" else values
        return [Reject(int(parsed.kept[i]), column, shorten(_as_python(plain[i])), why) for i in at]

    def _same_type(self, column: str, kind: pa.DataType) -> None:
        before = self._id_types.get(column)
        if before is not None and before != kind:
            words = {pa.int64(): "integers", pa.string(): "text"}
            raise ValueError(
                f"The {column}s of this batch are {words[kind]}, but so far they were {words[before]}: "
                "one engine takes one kind."
            )

    def _handle(self, rejects: list[Reject], what: str) -> None:
        if not rejects:
            return
        rejects.sort()
        self._counters["rejected"] += len(rejects)
        if self.on_error == "raise":
            raise Rejected(rejects, what)
        self.rejects += rejects

    def _learn_dims(self, rows: Any) -> None:
        if self.settings.dims is not None:
            return
        vectors = next((getattr(rows, name) for name in ("points", "x", "lo") if name in rows._fields), None)
        if vectors is not None and not np.isnan(vectors).all():
            self.settings = self.settings._replace(dims=vectors.shape[1])

    def _few_ids(self, ids: Ids) -> IdList | None:
        """Few plain ids, none of them twice, where they are taken as they are; None for all others."""
        if not self._takes_id_lists or type(ids) not in _PLAIN_IDS:
            return None
        listed = ids if type(ids) is list else [ids]
        with suppress(Doubtful):
            return plain_ids(listed) if 0 < len(listed) <= FEW else None
        return None

    def _publication_ids(self, ids: Ids) -> AnyIds:
        """Ids of publications, as given; only those that cannot be one are refused."""
        few = self._few_ids(ids)
        if few is not None:
            self._same_type("publications id", few.type)
            return few
        sieve = Sieve(table_of({"id": _listed(ids)}), "ids")
        given = read_ids(sieve, "id")
        good = sieve.done(given)
        if len(good.kept):
            self._same_type("publications id", given.type)
        self._handle(list(good.rejects), "ids")
        return given.filter(pa.array(~sieve.bad))

    def _known(self, ids: Ids, collect: bool = True) -> AnyIds:
        few = self._few_ids(ids)
        if few is not None and self._registered(few).all():
            return few
        sieve = Sieve(table_of({"id": _listed(ids)}), "ids")
        given = read_ids(sieve, "id")
        known = self._registered(given) & ~sieve.bad
        rejects = list(sieve.done(given).rejects)
        seen: set[object] = set()
        for i, plain in enumerate(given.to_pylist()):
            if not sieve.bad[i] and (not known[i] or plain in seen):
                why = "is given twice" if known[i] else "is not registered"
                rejects.append(Reject(i + 1, "id", shorten(plain), why))
                known[i] = False
            seen.add(plain)
        if rejects and not collect:
            raise Rejected(sorted(rejects), "ids")
        self._handle(rejects, "ids")
        return given.filter(pa.array(known))


def answer_to_rows(given: object, answer: Any) -> Any:
    """An answer in the form that suits what was given: rows for rows of Python, or a table."""
    return table_of_answer(answer) if isinstance(given, str) or _has_columns(given) else rows_of_answer(answer)


def answer_to_ids(given: object, answer: Any) -> Any:
    """An answer in the form that suits the ids that were given: rows for ids of Python, or a table."""
    return table_of_answer(answer) if _has_columns(given) else rows_of_answer(answer)


def _has_columns(given: object) -> bool:
    if type(given) in (dict, list, int, str) or isinstance(given, np.generic):
        return False
    # Data frames and their columns, of pandas and of others, can tell what they hold.
    return isinstance(given, _COLUMNS) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "dtype")


def _as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _listed(ids: Ids) -> Any:
    """One id as a list of one; the ids of a set in their order, so that answers do not depend on chance."""
    if is_integer(ids) or isinstance(ids, str | pa.Scalar):
        return [ids]
    if isinstance(ids, Mapping | bytes | bytearray) or is_data_frame(ids) or not isinstance(ids, Iterable):
        raise ValueError(f"Ids are an integer, a text, or a list of either, not {shorten(ids)}.")
    if isinstance(ids, Set):
        return sorted(ids, key=lambda id: (type(id).__name__, id if isinstance(id, str | int) else repr(id)))
    return ids
