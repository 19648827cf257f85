"""What has come for the subscriptions at home here, and the steps in which their home takes it in.

With watermarks a step waits until all has come that it needs; without, everything that comes is a step of its own. A
step is synced before its changes are told. Retractions come with their publications, and are taken in by
`PendingRetractions`.
"""

from typing import TYPE_CHECKING, Any

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.event import Changed, Refused, Unsubscribed
from skyband.overlay.broker.frame import Publication
from skyband.overlay.broker.home import HomeStep, rows_of
from skyband.overlay.broker.pending_retraction import PendingRetractions

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker


Keys = list[tuple[int, int]]


class HomeIntake:
    """What the next step of a home will take in."""

    def __init__(self, broker: "Broker") -> None:
        self._broker, self._home = broker, broker.home
        self.retractions = PendingRetractions(broker)
        self._arrived: list[Publication] = []
        self._handed: list[dict[str, Any]] = []
        self._keys: list[tuple[int, int]] = []
        self._begins: list[tuple[RoutedSubscription, int | None]] = []

    @property
    def is_absorbing(self) -> bool:
        """Whether the engine has something that is in no step yet."""
        return bool(self._keys) or self.retractions.is_absorbing

    @property
    def pending(self) -> set[tuple[int, int]]:
        """The keys of what has come and is in no step yet."""
        return {each.key for each in self._arrived}

    @property
    def _has_come(self) -> bool:
        """Whether there is anything for a step to take in."""
        return bool(self._arrived or self._keys or self.retractions.pending or self.retractions.is_absorbing)

    def recover(self, step: HomeStep, keys: list[list[int]], retracted: list[list[int]]) -> None:
        """A step that is on the disk is taken as it was."""
        self._home.seen.update({(key[0], key[1]): step.at for key in keys})
        self._home.withdrawn.update({(key[0], key[1]): step.at for key in retracted})
        self._home.take(step)

    def start(self, until: int) -> None:
        """What the clients here do not want any more ends; a home in which nothing has begun starts at this time."""
        if not self._home.begun and not self._home.ending:
            self._home.applied = max(self._home.applied, until)
        self._home.fitting.told()
        for id in sorted(self._home.begun - self._broker.registrations.known.keys(), key=str):
            self._home.end(id)

    def begin(self, asked: RoutedSubscription) -> None:
        """A subscription is answered here: at once, or from the first step on that has all that it needs."""
        self._home.subscriptions[asked.id] = asked
        if asked.id not in self._home.begun and all(each[0].id != asked.id for each in self._begins):
            self._begins.append((asked, None))
            if not self._broker.by_watermark:
                self.take_step(self._broker.now)

    def end(self, id: Id) -> None:
        """A subscription is answered no more from the next step on."""
        self._home.subscriptions.pop(id, None)
        self._begins = [each for each in self._begins if each[0].id != id]
        if self._home.end(id) and not self._broker.by_watermark:
            self.take_step(self._broker.now)

    def arrive(self, publication: Publication) -> bool:
        """A publication has come for the subscriptions here, perhaps with its retraction; tells whether it is new."""
        home = self._home
        is_kept = bool(home.subscriptions) or self._broker.strategy.sends_once
        is_new = is_kept and home.is_new(publication)
        if is_new and self._is_over(publication):
            home.is_withdrawn_now(publication)
        elif is_new:
            self._take_in(publication)
        if publication.retracted is not None and publication.key in home.seen:
            self.retractions.arrive(publication)
        return is_new

    def _is_over(self, publication: Publication) -> bool:
        """Whether a publication was taken back before the time that the home here has come to."""
        retracted = publication.retracted
        return retracted is not None and (not self._broker.by_watermark or retracted <= self._home.applied)

    def _take_in(self, publication: Publication) -> None:
        home = self._home
        if self._broker.by_watermark and publication.ts <= home.applied and home.has_engine:
            # It changes nothing by now, but gates that are looked at before the next step know of it.
            home.absorb(publication.row)
            self._handed.append(publication.row)
            self._keys.append(publication.key)
        else:
            self._arrived.append(publication)
            if not self._broker.by_watermark:
                self.take_step(self._broker.now)

    def close(self) -> None:
        """Take all steps for which everything has come, and say what the engine could not take."""
        if self._broker.by_watermark:
            self._close_steps()
        if self._home.fitting.reasons:
            self._say_refused()

    def _say_refused(self) -> None:
        reasons, given_up = self._home.fitting.told()
        for reason in reasons:
            self._broker.tell(Refused(reason))
        for id in given_up:
            self._home.subscriptions.pop(id, None)
            if id in self._broker.registrations.known:
                self._broker.registrations.unwant(Unsubscribed(id))

    def _close_steps(self) -> None:
        tick, strategy = self._broker.options.tick, self._broker.strategy
        while self._home.applied + tick <= self._broker.origin.until:
            at = self._home.applied + tick
            if self._home.subscriptions or self._home.ending:
                if not strategy.is_complete(at):
                    break
                self._broker.retention.note_late()
                self.take_step(at)
                strategy.settle()
            elif self._has_come:
                # Nobody waits for it any more; whoever subscribes here later needs it.
                self.take_step(at)
            else:
                self._home.applied = at

    def tick(self) -> None:
        """Time has passed: without watermarks a step of its own."""
        if not self._broker.by_watermark and self._home.subscriptions:
            self.take_step(self._broker.now)
            self._broker.strategy.settle()

    def take_step(self, at: int) -> None:
        """Take what has come up to a time into the engine, and tell what changes when that is durable."""
        # The clock of a machine may have gone back since an earlier life.
        at = max(at, self._home.applied)
        record, step, keys, retracted = self._next_step(at)
        if record.is_empty and not self._home.has_engine:
            self._home.applied = at
            return
        first = self._home.n_changes
        rows = self._home.take(step)
        self._broker.strategy.changed(rows)
        if rows or not record.is_empty:
            self._broker.write("step", *record, keys, retracted, then=lambda: self.tell_changes(first, rows))

    def tell_changes(self, first: int, rows: list[tuple[Any, ...]]) -> None:
        """A step is durable: its changes may be told."""
        if rows:
            self._broker.tell(Changed(first, tuple(rows)))

    def _next_step(self, at: int) -> tuple[HomeStep, HomeStep, Keys, Keys]:
        """The step as it is recorded, what of it the engine has not absorbed yet, and the keys of what has come."""
        before = at - self._broker.options.tick
        due, forgone = self.retractions.due(at)
        there = [each for each in self._arrived if each.ts <= at]
        self._arrived = [each for each in self._arrived if each.ts > at]
        late = [each for each in there if each.ts <= before] if self._broker.by_watermark else []
        came = [each for each in there if each.ts > before] if late else there
        # What was taken back in the same step has never been there.
        fleeting = {each.key for each in came} & {each.key for each in due}
        begins = [asked.row for asked in self._beginning(at)]
        keys = [*self._keys, *(each.key for each in (*late, *came))]
        step = HomeStep(
            at,
            rows_of(late),
            rows_of(each for each in came if each.key not in fleeting),
            begins,
            list(self._home.ending),
            self._home.applied,
            [each.spoken.id for each in due if each.key not in fleeting],
            [],
        )
        record = step._replace(handed=[*self._handed, *step.handed], forgone=[each.spoken.id for each in forgone])
        self._handed, self._keys = [], []
        return record, step, keys, [each.key for each in (*due, *forgone)]

    def _beginning(self, at: int) -> list[RoutedSubscription]:
        """Those that begin with a step: by now all brokers have heard of them, and hold what is live from now on."""
        by_watermark, now = self._broker.by_watermark, self._broker.now
        known = [(asked, now if since is None else since) for asked, since in self._begins]
        self._begins = [(asked, since) for asked, since in known if by_watermark and since > at]
        return [asked for asked, since in known if not by_watermark or since <= at]
