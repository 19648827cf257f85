"""The live view of a simulated network: who is up, what goes where, and what is said, drawn for a terminal."""

from collections import deque
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker
    from skyband.overlay.simulate.world import BrokerWorld

BAR = "█"
N_LINKS, N_BROKERS, N_LINES = 8, 16, 6
FRAMES_PER_SECOND = 8
# So long takes a second of the simulated world at least, for people to see it.
PACE = 0.15
SECOND = 1_000_000
STYLES = {
    "subscribing": "bright_blue",
    "publishing": "yellow",
    "delivering": "bright_green",
    "updating": "red",
    "recalling": "magenta",
    "upkeep": "grey50",
}


def render(world: "BrokerWorld", lines: "deque[str]", width: int = 100) -> RenderableType:
    """One frame: columns of messages, the busiest links, brokers, and the last things that clients were told."""
    side = Table.grid(expand=True, padding=(0, 1))
    side.add_column(ratio=1)
    side.add_column(ratio=1)
    side.add_row(_columns(world, width // 2 - 34), _links(world, width // 2 - 24))
    said = Text("\n".join(lines) or "nothing yet", style="grey62", no_wrap=True, overflow="ellipsis")
    return Group(_header(world), side, _brokers(world), Panel(said, title="told", title_align="left"))


def _header(world: "BrokerWorld") -> Text:
    options = world.scenario.options
    return Text.assemble(
        (f" {world.now / SECOND:7.1f} s ", "bold black on bright_cyan"),
        (f"  {options.strategy}, {options.mode}", "bold"),
        f"  seed {world.scenario.seed}  {world.n_events:,} events  {world.tally.total:,} messages",
    )


def _columns(world: "BrokerWorld", room: int) -> Panel:
    table = Table.grid(padding=(0, 1))
    columns = {name: sent.messages for name, sent in world.tally.columns().items()}
    most = max(*columns.values(), 1)
    for name, n in columns.items():
        table.add_row(name, Text(f"{n:,}", justify="right"), Text(BAR * (n * max(room, 1) // most), STYLES[name]))
    return Panel(table, title="messages", title_align="left", border_style="grey35")


def _links(world: "BrokerWorld", room: int) -> Panel:
    table = Table.grid(padding=(0, 1))
    busiest = sorted(world.tally.by_link.items(), key=lambda link: (-link[1], link[0]))[:N_LINKS]
    most = busiest[0][1] if busiest else 1
    for (source, target), n in busiest:
        bar = Text(BAR * (n * max(room, 1) // most), "bright_blue")
        table.add_row(f"{source} → {target}", Text(f"{n:,}", justify="right"), bar)
    return Panel(table, title="busiest links", title_align="left", border_style="grey35")


def _brokers(world: "BrokerWorld") -> Panel:
    table = Table(expand=True, box=None, header_style="grey50")
    for header in ("broker", "state", "subscriptions", "answered up to", "waiting", "on disk"):
        table.add_column(header, justify="left" if header == "state" else "right")
    for number, broker in enumerate(world.brokers[:N_BROKERS]):
        n_records = f"{len(world.disks[number].records):,}"
        if broker is None:
            table.add_row(str(number), Text("down", "bold red"), "", "", "", n_records)
            continue
        home = broker.home
        until = f"{home.applied / SECOND:.1f} s" if home.subscriptions else ""
        state = Text("up", "bright_green") if broker.is_live else Text("starting", "yellow")
        waiting = f"{broker.sessions.n_waiting:,}"
        table.add_row(str(number), state, f"{len(home.subscriptions):,}", until, waiting, n_records)
    n_more = len(world.brokers) - N_BROKERS
    title = f"brokers, and {n_more} more" if n_more > 0 else "brokers"
    return Panel(table, title=title, title_align="left", border_style="grey35")


class NetworkView:
    """Follows a world as it runs. In a terminal it redraws some times a second; elsewhere it draws the end only."""

    def __init__(self, console: Console, pace: float = PACE) -> None:
        self._console, self._pace = console, pace
        self._lines: deque[str] = deque(maxlen=N_LINES)
        self._live: Any = None
        self._n_told: dict[int, int] = {}
        self._drawn = self._since = monotonic()

    def __call__(self, world: "BrokerWorld", broker: "Broker") -> None:
        """Something has happened to a broker."""
        self._note(world, broker)
        if not self._console.is_terminal:
            return
        ahead = world.now / SECOND * self._pace - (monotonic() - self._since)
        if monotonic() - self._drawn >= 1 / FRAMES_PER_SECOND or ahead > 1 / FRAMES_PER_SECOND:
            self._draw(world)
            sleep(max(ahead, 0.0))

    def begin(self) -> None:
        """The next world starts at its time 0."""
        self._lines.clear()
        self._n_told, self._since = {}, monotonic()

    def end(self, world: "BrokerWorld") -> None:
        """Leave the last frame on the screen."""
        if self._live is not None:
            self._draw(world)
            self._live.stop()
            self._live = None
        else:
            self._console.print(render(world, self._lines, self._console.width))

    def _draw(self, world: "BrokerWorld") -> None:
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        self._live.update(render(world, self._lines, self._console.width), refresh=True)
        self._drawn = monotonic()

    def _note(self, world: "BrokerWorld", broker: "Broker") -> None:
        """The changes that the clients of a broker have been told since."""
        changes = world.audiences[broker.number].changes
        for number, row in changes[self._n_told.get(broker.number, 0) :]:
            subscription, publication, op = row[:3]
            said = f"broker {broker.number}, change {number}: {op} {publication} for {subscription}"
            self._lines.append(f"{world.now / SECOND:7.1f} s  {said}")
        self._n_told[broker.number] = len(changes)
