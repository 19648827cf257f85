"""What every thread has for itself when subscriptions are divided among several: changes, and scratch of its own."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.kernels.room import ample, initial
from skyband.topk.kernels.buffer import make_told

AnyArray = npt.NDArray[Any]
Columns = list[AnyArray]


class Hand:
    """Collects the changes of one thread."""

    def __init__(self) -> None:
        self._told = make_told(initial(1 << 16))
        self._kept: list[Columns] = []

    def _reserve(self, n: int) -> None:
        """Make sure that there is room for so many more changes."""
        if int(self._told.length[0]) + n > len(self._told.step):
            self._keep()
            if n > len(self._told.step):
                self._told = make_told(ample(n, 2 * n))

    def _keep(self) -> None:
        n = int(self._told.length[0])
        self._kept.append([array[:n].copy() for array in self._told[1:]])
        self._told.length[0] = 0

    def take_changes(self) -> list[Columns]:
        """The changes, which are no longer kept here."""
        self._keep()
        kept, self._kept = self._kept, []
        return kept


def like(own: AnyArray | None, model: AnyArray) -> AnyArray:
    """The own array if it has the model's shape, or a new one that has."""
    return own if own is not None and own.shape == model.shape else np.zeros_like(model)


def all_like(own: Any, model: Any) -> Any:
    """A group of arrays of the shapes of the model's, none of which is the model's."""
    return type(model)(*(like(own and mine, its) for mine, its in zip(own or model, model, strict=True)))
