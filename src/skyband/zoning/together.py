"""Several interests side by side, so that publications are held against all of them at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skyband.kernels.array import Bools
from skyband.zoning.admission import Interest
from skyband.zoning.division import division_of


class Together:
    """Interests of one family; made anew when one of them is another one."""

    def __init__(self, interests: Sequence[Interest]) -> None:
        self._interests = tuple(interests)
        self._some = [i for i, each in enumerate(interests) if not each.is_everything and len(each.groups.kind)]
        wanted = [self._interests[i].wanted for i in self._some]
        self._admits = division_of(interests[0].family).together(wanted) if wanted else None

    def are(self, interests: Sequence[Interest]) -> bool:
        """Whether these are the very ones that were put side by side."""
        its = self._interests
        return len(its) == len(interests) and all(one is other for one, other in zip(its, interests, strict=True))

    def admits(self, publications: Any, now: int) -> Bools:
        """By publication and interest, what `Interest.admits` says."""
        found = np.empty((len(publications.ids), len(self._interests)), np.bool_)
        found[:] = [each.is_everything for each in self._interests]
        if self._admits is not None and len(found):
            found[:, self._some] = self._admits(publications, now)
        return found
