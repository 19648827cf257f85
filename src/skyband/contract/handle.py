"""What an engine or a cover set is to whoever holds it: a line that says what it is, its public names, and a block.

At the end of a `with` block it is closed: what it has in memory is given back, and any use of it is refused.
"""

from abc import abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from skyband.table.settings import Window, WindowKind


class Closed(AttributeError, ValueError):
    """Something was asked of an engine or a cover set that was closed."""


class Handle:
    """Something with memory that may be given back."""

    def __enter__(self) -> Self:
        if not self.__dict__:
            raise self._closed()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back all memory; after that nothing may be asked, and closing again does nothing."""
        self.__dict__.clear()

    def __repr__(self) -> str:
        return f"<{self._kind}: {', '.join(self._facts()) if self.__dict__ else 'closed'}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    if not TYPE_CHECKING:  # it would hide every misspelt name from a type checker

        def __getattr__(self, name: str) -> Any:
            if self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise self._closed()

    def _closed(self) -> Closed:
        return Closed(f"The {self._kind} was closed: open another one.")

    @property
    def _kind(self) -> str:
        """What it is, in a few words."""
        return type(self).__name__

    @abstractmethod
    def _facts(self) -> list[str]:
        """What can be said of it in a line."""


def show_count(n: int, noun: str) -> str:
    """How many of something there are."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def show_window(window: Window) -> str:
    """A window in a few words."""
    return "no window" if window.kind == WindowKind.UNBOUNDED else f"window {window}"


def show_bytes(n_bytes: int) -> str:
    """Bytes in a unit that leaves few digits."""
    size, unit = float(n_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1000:
            break
        size, unit = size / 1024, larger
    return f"{size:.3g} {unit}"
