"""The course of a seeded stream that is hard: how long it is, and whether publications come nearer or go away."""

import math
import random

ORDERS = ("random", "ties", "farther", "nearer", "sawtooth", "same")


class Course:
    """What the rows of one stream have in common; `draw` is what they are drawn with."""

    def __init__(self, family: str, seed: int) -> None:
        self.draw = random.Random(f"{family} {seed}")
        draw = self.draw
        # Rows of candidates grow most where each publication is worse than the last, and many are asked for.
        self.grows = draw.random() < 0.15
        self.n = int(math.exp(draw.uniform(math.log(100 if self.grows else 12), math.log(200))))
        self.order = draw.choice(ORDERS) if not self.grows else "farther"
        self.dims = draw.choice((1, 2, 2, 3))
        self.width = draw.choice((1, 4, max(2, self.n // 3), self.n))

    def height(self, i: int) -> float:
        """How far from the origin the i-th publication is."""
        if self.order == "random":
            return self.draw.random() * self.width
        if self.order == "ties":
            return float(self.draw.randrange(3))
        if self.order == "same":
            return 1.0
        up = i % self.width if self.order == "sawtooth" else i
        return float(self.n - up if self.order == "nearer" else up)
