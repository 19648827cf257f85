"""What must hold at every moment of a run, looked at after each event: gates, credit, and how far gossip gets."""

from collections.abc import Iterator

from skyband.contract.tops import Id
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.frame import LIFE, Proxy
from skyband.overlay.broker.retainer import Retainer
from skyband.overlay.broker.session import N_LANES
from skyband.overlay.broker.step import gate_at
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy.gossip import BasicGossiping
from skyband.overlay.strategy.with_proxies import name_abroad


def retainers(broker: Broker | None) -> list[Retainer]:
    """What a broker holds back."""
    if broker is None:
        return []
    strategy = broker.strategy
    found = [getattr(strategy, "retainer", None), getattr(getattr(strategy, "zone", None), "retainer", None)]
    return [retainer for retainer in found if retainer is not None]


class RunWatcher:
    """Watches a run; `wrong_gates` and `wrong_queues` say what did not hold.

    `reached` counts the brokers that each publication has come to, where these gossip.
    """

    def __init__(self) -> None:
        self.wrong_gates: list[str] = []
        self.wrong_queues: list[str] = []
        self.n_compared = 0
        self.reached: dict[tuple[int, int], set[int]] = {}
        self._applied: dict[int, int] = {}

    def __call__(self, world: BrokerWorld, broker: Broker) -> None:
        """Look at the broker that something has happened to, and at the proxies for its subscriptions elsewhere."""
        self._check_credit(broker)
        self._note_gossip(broker)
        if broker.options.gates == "staircase" and self._has_moved(world, broker):
            self._check_gates(world, broker)

    def _has_moved(self, world: BrokerWorld, broker: Broker) -> bool:
        """Whether a home has taken a step, or a tick has begun by which gates elsewhere widen."""
        before, self._applied[broker.number] = self._applied.get(broker.number), broker.home.applied
        return before != broker.home.applied or world.now % broker.options.tick == 0

    def _check_credit(self, broker: Broker) -> None:
        credit = broker.options.credit
        for session in broker.sessions.all():
            for lane in range(1, N_LANES):
                its = session.lanes[lane]
                if max(len(its.unacknowledged), len(its.early)) > credit:
                    self.wrong_queues.append(f"Broker {broker.number} has more than {credit} frames on the way.")

    def _note_gossip(self, broker: Broker) -> None:
        if isinstance(broker.strategy, BasicGossiping):
            for key in reversed(broker.strategy.seen):
                brokers = self.reached.setdefault(key, set())
                if broker.number in brokers:
                    break
                brokers.add(broker.number)

    def _check_gates(self, world: BrokerWorld, broker: Broker) -> None:
        home = broker.home
        ranked = {id for id in home.begun & home.subscriptions.keys() if home.subscriptions[id].threshold is None}
        if not ranked:
            return
        at, gates = home.applied, home.gates_of_now()
        for id, proxy in _proxies_of(world, broker, ranked, at):
            self.n_compared += 1
            found = gate_at(proxy.steps, at)
            if proxy.asked.narrower(found, gates[id]):
                self.wrong_gates.append(f"At {world.now} a proxy of {id} has {found}, and its gate {gates[id]}.")


def _proxies_of(world: BrokerWorld, broker: Broker, ids: set[Id], at: int) -> Iterator[tuple[Id, Proxy]]:
    """What stands elsewhere for subscriptions of a broker, as of this life of it, and as of a time."""
    here = {id: id for id in ids} | {name_abroad(id, broker.number): id for id in ids}
    rows = {id: broker.home.subscriptions[id].row | {"id": None} for id in ids}
    oldest = broker.sessions.incarnation * LIFE
    for other in (other for other in world.brokers if other is not None):
        for retainer in retainers(other):
            for destination in retainer.destinations.values():
                for proxy in destination.proxies.values():
                    is_current = proxy.version >= oldest and (proxy.closes is None or proxy.closes > at)
                    if not is_current or proxy.home != broker.number or proxy.asked.id not in here:
                        continue
                    id = here[proxy.asked.id]
                    # The id may have been subscribed again, for something else.
                    is_meant = proxy.asked.row | {"id": None} == rows[id]
                    if is_meant and broker.strategy.relies_on(other.number, proxy):
                        yield id, proxy
