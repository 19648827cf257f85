"""Cursors: up to where somebody has heard the changes of a home, as a text to be kept and shown again."""

from typing import NamedTuple, Self


class Cursor(NamedTuple):
    """The number of the next change of a home, and the journal by which it counts."""

    home: str
    journal: str
    number: int

    def __str__(self) -> str:
        return f"{self.home}/{self.journal}/{self.number}"

    @classmethod
    def of(cls, text: object) -> Self | None:
        """A cursor from its text, None if it is none."""
        parts = text.split("/") if isinstance(text, str) else []
        if len(parts) != 3 or not (parts[2].isascii() and parts[2].isdecimal() and len(parts[2]) < 20):
            return None
        return cls(parts[0], parts[1], int(parts[2]))
