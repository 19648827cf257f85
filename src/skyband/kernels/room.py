"""Room: a kernel allocates nothing, so one that runs out of room stops, is given more, and is called again.

Every loop that calls a kernel again goes through `stops` or `pauses`, so that none of them can go on for ever: a kernel
that is given what it asked for and still comes no further raises `NoProgress`. Kernels that know what they need write
it down, and whoever makes room reads it there: the size of it is decided in one place, the kernel's. Kernels that do
not know it in advance are given room that doubles, which says `tries=DOUBLINGS`.
"""

from collections.abc import Callable, Iterator

# Room that has doubled so many times is more than any memory.
DOUBLINGS = 48
# Set by tests, which let room run out at every place where it can: no more of it is made than was asked for.
CRAMPED = False


class NoProgress(RuntimeError):
    """A kernel stopped for want of room, was given it, and came no further; the engine is not to be used any more."""

    def __init__(self, place: object) -> None:
        super().__init__(
            f"A kernel came no further than {place}, although it was given the room that it asked for. "
            "This is a fault in Skyband and not in what it was given; please report it with the input that shows it."
        )


def initial(n: int) -> int:
    """How much room to begin with."""
    return 1 if CRAMPED else n


def ample(needed: int, generous: int) -> int:
    """How much room to make where so much is needed: a generous amount, so that it is not made often."""
    return needed if CRAMPED else max(needed, generous)


def stops(call: Callable[[int], int], end: int, done: int = 0, tries: int = 1) -> Iterator[int]:
    """Call a kernel, which is given how far it has come and returns how far it came, until that is the end.

    Yields each place where it stopped, for room to be made. It may stop at one place `tries` times.
    """
    furthest, n_stops = done - 1, 0
    while (done := call(done)) != end:
        n_stops = n_stops + 1 if done <= furthest else 1
        if n_stops > tries:
            raise NoProgress(done)
        furthest = max(done, furthest)
        yield done


def pauses(call: Callable[[], bool], place: Callable[[], tuple[int, ...]], tries: int = 1) -> Iterator[tuple[int, ...]]:
    """Call a kernel that keeps its own place, and says whether it is through, until it is; otherwise like `stops`."""
    last: tuple[int, ...] | None = None
    n_stops = 0
    while not call():
        here = place()
        n_stops = n_stops + 1 if here == last else 1
        if n_stops > tries:
            raise NoProgress(here)
        last = here
        yield here
