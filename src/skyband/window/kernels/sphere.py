"""Great-circle distances of the candidates that chords have found."""

from skyband.kernels.array import Floats
from skyband.kernels.compile import kernel
from skyband.kernels.sphere import QUARTER, directed_between
from skyband.topk.kernels.candidate import Candidates


@kernel
def measure(candidates: Candidates, since: int, sphere: Floats, centre: Floats) -> None:
    """Turn squares of chords into directed distances, from the candidate `since` on."""
    slots, publications, directed = candidates.slot, candidates.publication, candidates.directed
    for i in range(since, candidates.length[0]):
        if directed[i] > QUARTER:
            c, p = centre[slots[i]], publications[i]
            directed[i] = directed_between(sphere[0, p], sphere[1, p], sphere[2, p], c[0], c[1], c[2])
