"""Requests of clients that wait until they are durable, and what they are answered then."""

from collections.abc import Iterable
from typing import Any

from skyband.broker.driver.task import ClientRequest, Effect
from skyband.overlay.broker.event import Drained, Refused, Sync, Tell, Write
from skyband.overlay.broker.record import unpack_record

MOST_KEYS = 100_000


class RequestRefused(ValueError):
    """A client wants what cannot be done; with `again` it may be tried later."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class Outstanding:
    """Requests by the sync that they wait for, and answers by the keys under which they may be asked for again."""

    def __init__(self, answers: dict[str, dict[str, Any]]) -> None:
        self.answers = answers
        self.by_key: dict[str, ClientRequest] = {}
        self._by_sync: dict[int, ClientRequest] = {}

    def __len__(self) -> int:
        return len(self._by_sync)

    def stepped(self, request: ClientRequest, effects: Iterable[Effect]) -> Write | None:
        """The core has taken a request: it is refused or done, or waits; answers with the record it waits for."""
        record: Write | None = None
        for effect in effects:
            if isinstance(effect, Write) and record is None:
                record = effect
            elif isinstance(effect, Sync) and record is not None:
                request.answer = answer_in(record)
                self._by_sync[effect.number] = request
                return record
            elif isinstance(effect, Tell) and isinstance(effect.what, Refused):
                self.refuse(request, effect.what.reason, effect.what.reason.endswith("try again."))
                return None
            elif isinstance(effect, Tell) and isinstance(effect.what, Drained):
                self._finish(request, effect.what._asdict())
                return None
        return record

    def synced(self, number: int) -> None:
        """A sync is done."""
        request = self._by_sync.pop(number, None)
        if request is not None:
            self._finish(request, request.answer)

    def refuse(self, request: ClientRequest, reason: str, again: bool = False) -> None:
        """Tell a client that it cannot be done."""
        if request.key is not None:
            self.by_key.pop(request.key, None)
        if not request.done.done():
            request.done.set_exception(RequestRefused(reason, again))

    def abandon(self, reason: str) -> None:
        """Nobody knows what becomes of those that wait: with the same key they may be tried again."""
        for request in self._by_sync.values():
            self.refuse(request, reason, again=True)
        self._by_sync.clear()

    def _finish(self, request: ClientRequest, answer: dict[str, Any]) -> None:
        if request.key is not None:
            self.by_key.pop(request.key, None)
            self.answers[request.key] = answer
            if len(self.answers) > MOST_KEYS:
                self.answers.pop(next(iter(self.answers)))
        if not request.done.done():
            request.done.set_result(answer)


def answer_in(record: Write) -> dict[str, Any]:
    """What a client is told when a record is durable."""
    fields = unpack_record(record.record)
    assert fields is not None, "the core writes whole records"
    kind = fields[0]
    if kind == "published":
        return {"number": fields[1], "ts": fields[2]}
    if kind == "retracted":
        return {"number": fields[1], "ts": fields[2]}
    return {}
