"""A stream: two files and the options to replay them with, and what has to come of it."""

from dataclasses import dataclass, field

from tests.blackbox.matching import matches
from tests.blackbox.objects import Objects
from tests.blackbox.oracle import Change, Row, changes, steps
from tests.blackbox.sliding import Sliding, Windows, place_and_words, point_score


@dataclass
class Stream:
    """Two files, the options to replay them with, and so all that the answer depends on."""

    family: str
    publications: list[Row]
    subscriptions: list[Row]
    batch: int = 1000
    granularity: str = "batch"
    window_n: int | None = None
    window_us: int | None = None
    bounds: tuple[float, ...] | None = None
    more: dict[str, str] = field(default_factory=dict)

    def options(self) -> list[str]:
        """The words of the command line that say all this."""
        words = ["--batch", str(self.batch), "--granularity", self.granularity]
        words += [] if self.window_n is None else ["--window-n", str(self.window_n)]
        words += [] if self.window_us is None else ["--window-us", str(self.window_us)]
        words += [] if self.bounds is None else ["--bounds", ",".join(map(str, self.bounds))]
        return words + [word for pair in self.more.items() for word in pair]

    def state(self) -> Sliding | Objects:
        """The brute force for the family, before anything was published."""
        if self.family == "ranges":
            return Objects(self.subscriptions)
        windows = Windows(self.window_n, self.window_us, self.subscriptions)
        if self.family == "window":
            return Sliding(windows, lambda mine, row: point_score(mine, row["point"]))
        bounds = self.bounds or (0.0, 0.0, 1.0, 1.0)
        return Sliding(windows, lambda mine, row: place_and_words(mine, row, bounds))

    def expected(self) -> list[Change]:
        """What the change log has to be."""
        if self.family == "ranked":
            k = int(self.more.get("--k", 20))
            return matches(self.subscriptions, self.publications, k, self.more.get("--matching", "relaxed"))
        moves = steps(self.publications, self.batch, self.granularity)
        return changes(self.state(), self.subscriptions, moves)
