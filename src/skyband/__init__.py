"""Skyband: top-k publish/subscribe.

Register standing questions, publish, and learn exactly how every answer changed.
"""

import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from skyband.contract import AnyEngine, Granularity, Tops
    from skyband.covering import CoverSet, Domain
    from skyband.table import Bounds, OnError, Rejected, Window, WindowLike, WordModel, show
    from skyband.table.words import Words

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "CoverSet",
    "Domain",
    "Rejected",
    "Tops",
    "Window",
    "Words",
    "__version__",
    "open",
    "restore",
    "show",
]

# Imported when first asked for: `skyband --help` should not wait for numpy and Arrow.
_HOMES = {
    "Bounds": "skyband.table",
    "CoverSet": "skyband.covering",
    "Domain": "skyband.covering",
    "Rejected": "skyband.table",
    "Tops": "skyband.contract",
    "Window": "skyband.table",
    "Words": "skyband.table.words",
    "show": "skyband.table",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'skyband' has no attribute {name!r}")


def open(
    family: str,
    engine: str = "default",
    *,
    window: "WindowLike" = None,
    bounds: "Bounds | str | None" = None,
    words: "WordModel | None" = None,
    granularity: "Granularity" = "batch",
    on_error: "OnError" = "raise",
    **options: Any,
) -> "AnyEngine":
    """An empty engine for a family of subscriptions: window, geotext, ranges or ranked.

    Every family has an engine by default, which is scan. `window` is the window of subscriptions that bring none of
    their own, or a duration such as "10m"; without it nothing expires. `bounds` is the space of geotext, `words` weighs
    its texts. `granularity` says what changes are netted over. Options that only one engine has, such as `k` and
    `matching` of ranked, are passed on.
    """
    from skyband.contract import find_engine
    from skyband.contract.family import FAMILIES, check_settings
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
        return found(settings, granularity=granularity, on_error=on_error, **options)
    except TypeError as error:
        unknown = re.search("(?:unexpected|multiple values for)(?: keyword)? argument '(.*)'", str(error))
        if unknown is None:
            raise
        raise no_option(f"The engine {found.name} of the family {family}", unknown[1]) from None


def restore(folder: "str | Path") -> Any:
    """The engine, or the cover set, that wrote a snapshot to this folder, ready to go on as if nothing had happened."""
    from skyband.contract import FAMILIES, find_engine, snapshot_of
    from skyband.table.argument import check_folder

    folder = check_folder(folder)
    family, engine = snapshot_of(folder)
    keeper = FAMILIES[family].keeper if family in FAMILIES else None
    if keeper is not None:
        return getattr(importlib.import_module(FAMILIES[family].room), keeper).restore(folder)
    return find_engine(family, engine).restore(folder)
