"""When a message is tried again: ten attempts over about three days, further and further apart.

Delays are drawn from the last tenth of each, so that what has failed together does not come together again.
"""

import random
from collections.abc import Callable

SECOND = 1_000_000
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
# After the first attempt, after the second, and so on.
DELAYS = (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)
ATTEMPTS = len(DELAYS) + 1
JITTER = 0.1


def next_attempt(
    n_made: int, now: int, wished: float | None = None, draw: Callable[[], float] = random.random
) -> int | None:
    """The time of the next attempt after so many have failed, None after the last of them.

    A receiver may wish for a longer delay, in seconds, of a day at most.
    """
    if n_made >= ATTEMPTS:
        return None
    delay = DELAYS[n_made - 1] * (1 - JITTER * draw())
    if wished is not None:
        delay = max(delay, min(wished * SECOND, 24 * HOUR))
    return now + int(delay)
