"""Skyband: top-k publish/subscribe.

Register standing questions, publish, and learn exactly how every answer changed.
"""

import importlib
import re
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from skyband.contract import AnyEngine, Granularity, Tops
    from skyband.covering import CoverSet, Domain
    from skyband.ranges.engine import RangesPaint
    from skyband.ranked.engine import RankedEngine
    from skyband.table import Bounds, OnError, Rejected, Window, WindowLike, WordModel, show
    from skyband.table.answer import answer_as
    from skyband.table.answer_rows import AnswerRows
    from skyband.table.words import Words

__version__ = "0.1.0"

__all__ = [
    "AnswerRows",
    "Bounds",
    "CoverSet",
    "Domain",
    "Rejected",
    "Tops",
    "Window",
    "Words",
    "__version__",
    "answer_as",
    "open",
    "restore",
    "show",
]

# Imported when first asked for: `skyband --help` should not wait for numpy and Arrow.
_HOMES = {
    "AnswerRows": "skyband.table.answer_rows",
    "Bounds": "skyband.table",
    "CoverSet": "skyband.covering",
    "Domain": "skyband.covering",
    "Rejected": "skyband.table",
    "Tops": "skyband.contract",
    "Window": "skyband.table",
    "Words": "skyband.table.words",
    "answer_as": "skyband.table.answer",
    "show": "skyband.table",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'skyband' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


# What an editor completes: the engines and the options of each family. Any family that is found can be opened.
@overload
def open(
    family: Literal["window"],
    engine: Literal[
        "auto", "blocks", "cskyband", "kmax", "oracle", "pa", "sasf", "scan", "skyband", "sma", "tma"
    ] = ...,
    *,
    window: "WindowLike" = ...,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    index: Literal["blocks", "grid"] = ...,
    cells: int | None = ...,
    kmax: float = ...,
    ratio: float = ...,
    b: int = ...,
    sigma: float = ...,
    reserve: tuple[int, int] = ...,
    most_scanned: int | None = ...,
) -> "AnyEngine": ...


@overload
def open(
    family: Literal["geotext"],
    engine: Literal["auto", "blocks", "ciq", "oracle", "scan", "skype"] = ...,
    *,
    window: "WindowLike" = ...,
    bounds: "Bounds | str | None" = ...,
    words: "WordModel | None" = ...,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    index: Literal["postings", "igpt", "ciq"] = ...,
    policy: Literal["margin", "cskyband", "skyband", "kmax"] = ...,
    ratio: float = ...,
    kmax: float = ...,
    groups: int = ...,
    capacity: int = ...,
    prunings: "Iterable[str]" = ...,
    depth: int = ...,
    reserve: tuple[int, int] = ...,
    most_scanned: int | None = ...,
) -> "AnyEngine": ...


@overload
def open(
    family: Literal["ranges"],
    engine: Literal["paint"],
    *,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    algorithm: Literal["sparse", "dense", "unicast"] = ...,
    epsilon: float = ...,
    batch: bool = ...,
    servers: int = ...,
    sketch: int | None = ...,
    shape: Literal["box", "1.5"] = ...,
    ks: "Iterable[int]" = ...,
) -> "RangesPaint": ...


@overload
def open(
    family: Literal["ranges"],
    engine: Literal["auto", "oracle", "scan"] = ...,
    *,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    most_scanned: int | None = ...,
) -> "AnyEngine": ...


@overload
def open(
    family: Literal["ranked"],
    engine: Literal["auto", "oracle", "scan", "scored"] = ...,
    *,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    k: int = ...,
    matching: Literal["relaxed", "exact"] = ...,
    combination: Literal["sum", "min", "max"] = ...,
    emphasis: "Sequence[float] | None" = ...,
    fit: Literal["flat", "centre", "share"] = ...,
    interval: Literal["overlap", "inside"] = ...,
    dims: int | None = ...,
    index: Literal["sopt", "ir", "r", "segment", "interval"] = ...,
    access: Literal["auto", "anchor", "cells", "descent", "intersect", "threshold", "tiers", "total"] = ...,
    delta: int = ...,
    most_scanned: int | None = ...,
) -> "RankedEngine": ...


@overload
def open(
    family: str,
    engine: str = ...,
    *,
    window: "WindowLike" = ...,
    bounds: "Bounds | str | None" = ...,
    words: "WordModel | None" = ...,
    granularity: "Granularity" = ...,
    on_error: "OnError" = ...,
    threads: int | None = ...,
    **options: Any,
) -> "AnyEngine": ...


def open(
    family: str,
    engine: str = "auto",
    *,
    window: "WindowLike" = None,
    bounds: "Bounds | str | None" = None,
    words: "WordModel | None" = None,
    granularity: "Granularity" = "batch",
    on_error: "OnError" = "raise",
    threads: int | None = None,
    **options: Any,
) -> "AnyEngine":
    """An empty engine for a family of subscriptions: window, geotext, ranges or ranked.

    By default it is whichever engine suits the number of subscriptions, now and later. `window` is the window of
    subscriptions that bring none of their own, or a duration such as "10m"; without it nothing expires. `bounds` is the
    space of geotext, `words` weighs its texts. `granularity` says what changes are netted over. The work of a call is
    divided among `threads`, by default as many as there are cores, and answers do not depend on them. Options that only
    one engine has, such as `k` and `matching` of ranked, are passed on. At the end of a `with` block the engine is
    closed.

    >>> with open("ranges", "oracle") as engine:
    ...     engine.subscribe({"id": "ann", "k": 1, "lo": 0, "hi": 10}).num_rows
    ...     engine.publish({"id": 1, "ts": 5, "object": "tea", "x": 4, "y": 3.5})["op"].to_pylist()
    ...     engine
    0
    ['enter']
    <ranges engine oracle: 1 subscription>
    """
    from skyband.contract import find_engine
    from skyband.contract.family import FAMILIES, check_settings
    from skyband.contract.option import options_of
    from skyband.table import Settings
    from skyband.table.argument import no_option

    given: object = family
    its = FAMILIES.get(family) if isinstance(given, str) else None
    if its is not None and its.keeper is not None:
        raise ValueError(f"{family.capitalize()} subscriptions have no tops: skyband.{its.keeper}() keeps them.")
    settings = Settings(window=window, bounds=bounds, words=words)
    found = find_engine(family, engine)
    check_settings(family, settings.window, bounds, words)
    try:
        return found(settings, granularity=granularity, on_error=on_error, threads=threads, **options)
    except TypeError as error:
        unknown = re.search("(?:unexpected|multiple values for)(?: keyword)? argument '(.*)'", str(error))
        if unknown is None:
            raise
        raise no_option(f"The engine {found.name} of the family {family}", unknown[1], options_of(found)) from None


def restore(folder: "str | Path", *, threads: int | None = None) -> Any:
    """The engine, or the cover set, that wrote a snapshot to this folder, ready to go on as if nothing had happened.

    An engine divides the work of a call among `threads`, by default as many as there are cores.
    """
    from skyband.contract import FAMILIES, find_engine, snapshot_of
    from skyband.table.argument import check_folder

    folder = check_folder(folder)
    family, engine = snapshot_of(folder)
    keeper = FAMILIES[family].keeper if family in FAMILIES else None
    if keeper is not None:
        return getattr(importlib.import_module(FAMILIES[family].room), keeper).restore(folder)
    return find_engine(family, engine).restore(folder, threads=threads)
