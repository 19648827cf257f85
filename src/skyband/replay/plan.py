"""What a run is to do, and which window, words and options follow from the files it is given."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skyband.contract import AUTO, AnyEngine, Granularity, find_engine
from skyband.contract.family import FAMILIES, check_settings, names_where
from skyband.contract.option import read_options
from skyband.kernels.crew import MOST_THREADS
from skyband.table import UNBOUNDED, Bounds, OnError, Settings, Window, WindowKind, WordModel
from skyband.table.argument import check_integer


class Plan(NamedTuple):
    """The options of a run; None leaves one to the files or to the engine.

    `engine_options` are the engine's own, by name; their values may be text, which is read as each one's type says.
    """

    family: str | None = None
    engine: str = AUTO
    window: Window | None = None
    bounds: Bounds | str | None = None
    words: WordModel | None = None
    granularity: Granularity = "batch"
    batch: int = 1000
    on_error: OnError = "raise"
    k: int | None = None
    matching: str | None = None
    engine_options: Mapping[str, Any] | None = None
    threads: int | None = None

    def check(self) -> None:
        """Raise a ValueError for a value that no run can have."""
        if self.batch < 1:
            raise ValueError(f"A batch has at least 1 publication, not {self.batch}.")
        if self.k is not None and self.k < 1:
            raise ValueError(f"k must be at least 1, not {self.k}.")
        if self.threads is not None:
            check_integer("threads", self.threads, 1, MOST_THREADS)
        for name in self._given().keys() & (self.engine_options or {}):
            raise ValueError(f"{name} is given twice, also as an option of the engine.")

    def check_family(self, family: str) -> None:
        """Raise a ValueError for an option that the family would not use, rather than leave it unused in silence."""
        if FAMILIES[family].publications is None:
            raise ValueError(
                f"{family.capitalize()} subscriptions have no publications, so there is nothing to replay."
            )
        check_settings(family, self.window, self.bounds, self.words)
        if self._given() and not FAMILIES[family].run_options:
            owners = " and ".join(names_where(lambda its: its.run_options))
            raise ValueError(
                f"k and matching are options of the family {owners}; in {family} the subscriptions bring their own k."
            )

    def _given(self) -> dict[str, Any]:
        """The options of engines that were given."""
        given = {"k": self.k, "matching": self.matching}
        return {name: value for name, value in given.items() if value is not None}

    def settings(self) -> Settings:
        """What the files are read against."""
        plain = Settings()
        bounds = Settings(bounds=self.bounds).bounds
        return plain._replace(window=self.window or UNBOUNDED, bounds=bounds, words=self.words)

    def options(self, kind: type[AnyEngine]) -> dict[str, Any]:
        """The options of its own that an engine of this kind is opened with."""
        its = FAMILIES[kind.family].run_options
        own = read_options(kind, self.engine_options or {})
        return {**its, **self._given(), **own} if its else own

    def open(self, family: str, settings: Settings) -> AnyEngine:
        """A new engine for the family."""
        kind = find_engine(family, self.engine)
        own = self.options(kind)
        return kind(settings, granularity=self.granularity, on_error=self.on_error, threads=self.threads, **own)


def narrowest(subscriptions: Any) -> Window:
    """The window to open an engine with so that it keeps no more than these subscriptions need.

    An engine keeps what its own window and any subscription's window holds; so one of theirs, the widest of its kind,
    adds nothing.
    """
    if "window" not in subscriptions._fields:
        return UNBOUNDED
    kinds, sizes = subscriptions.window
    for kind in (WindowKind.UNBOUNDED, WindowKind.TIME, WindowKind.COUNT):
        at = kinds == kind
        if at.any():
            return Window(kind, int(np.max(sizes[at])))
    return UNBOUNDED


def expiry_note(subscriptions: Any) -> list[str]:
    """A sentence for those who might have forgotten a window."""
    if "window" not in subscriptions._fields:
        return []
    n_open = int(np.count_nonzero(subscriptions.window.kind == WindowKind.UNBOUNDED))
    if not n_open:
        return []
    who = "1 subscription has" if n_open == 1 else f"{n_open:,} subscriptions have"
    return [f"Nothing expires: {who} no window, and no default window was given."]
