"""What may go wrong between a client and a broker."""

from collections.abc import Sequence

from skyband.broker.client.answer import RowRefused


class BrokerProblem(Exception):
    """A broker that cannot do what was asked of it."""


class BrokerUnreachable(BrokerProblem):
    """Nobody has answered for as long as the client waits, or has taken what was sent."""


class BrokerRefused(BrokerProblem):
    """The broker says no, in a sentence; `rows` are those that it has refused, and all others were taken."""

    def __init__(self, reason: str, rows: Sequence[RowRefused] = ()) -> None:
        super().__init__(reason)
        self.rows = tuple(rows)
