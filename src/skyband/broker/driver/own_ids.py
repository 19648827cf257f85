"""The ids of what was published at this broker and may matter yet: an engine takes no id twice at a time."""

from skyband.contract.tops import Id
from skyband.overlay.broker.origin import Origin

SPARE = 1000


class OwnIds:
    """The numbers of publications by their ids, of which those count that the core still keeps."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._numbers: dict[Id, int] | None = None

    def has(self, id: Id) -> bool:
        """Whether a publication that is kept has this id."""
        if self._numbers is None or len(self._numbers) > 2 * self._origin.n_kept + SPARE:
            self._numbers = self._origin.numbers_by_id()
        return self._origin.keeps(self._numbers.get(id, 0))

    def note(self, id: Id) -> None:
        """A publication with this id is the last that was taken."""
        if self._numbers is not None:
            self._numbers[id] = self._origin.n_published
