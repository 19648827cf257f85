"""The live view: a frame drawn for a terminal of any size."""

from rich.align import Align
from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from skyband.demo.day import CLOSES, OPENS, clock
from skyband.demo.frame import Card, Frame, Line, Rates, TopEntry, first_hour
from skyband.demo.runner import PipelineTraffic

BARS = "▁▂▃▄▅▆▇█"
NARROW = 110


def render(frame: Frame, width: int) -> Layout:
    """The whole screen."""
    screen = Layout()
    body = Layout(name="body")
    screen.split_column(Layout(_header(frame, width), size=4), body, Layout(_footer(frame, width), size=5))
    cards = Layout(ratio=3)
    cards.split_column(*(Layout(_card(card)) for card in frame.cards))
    if width < NARROW:
        body.split_row(cards)
    else:
        body.split_row(Layout(_stream(frame.latest), ratio=2), cards)
    return screen


def _header(frame: Frame, width: int) -> RenderableType:
    title = Text.assemble(
        (f" {clock(frame.minute)} ", "bold black on bright_cyan"),
        (f"  a day in {frame.city}  ", "bold"),
        (frame.happening, "italic bright_cyan"),
        no_wrap=True,
        overflow="ellipsis",
    )
    done = round((frame.minute - OPENS) / (CLOSES - OPENS) * max(width - 4, 1))
    bar = Text.assemble(("━" * done, "bright_cyan"), ("─" * (width - 4 - done), "grey35"), no_wrap=True)
    return Panel(Group(title, bar), border_style="grey35")


def _stream(latest: tuple[Line, ...]) -> Panel:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(style="grey50", width=5)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for number, line in enumerate(latest):
        table.add_row(line.clock, Text(line.text, style=line.colour if number < 12 else "grey50"))
    return Panel(table, title="the stream, newest first", title_align="left", border_style="grey35")


def _card(card: Card) -> Panel:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(width=1)
    table.add_column(width=8, justify="right")
    table.add_column(style="grey50", width=5)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for rank, entry in enumerate(card.top, 1):
        _add_entry(table, rank, entry)
    if not card.top:
        table.add_row("", "", "", Text("nothing yet", style="grey50 italic"))
    for line in card.left:
        table.add_row(Text("−", style="red"), "", line.clock, Text(line.text, style="strike red"))
    title = Text.assemble((card.title, f"bold {card.colour}"), (f"  follows {', '.join(card.words)}", "grey62"))
    return Panel(table, title=title, title_align="left", border_style=card.colour)


def _add_entry(table: Table, rank: int, entry: TopEntry) -> None:
    if entry.new > 0.6:
        mark, style = "+", "bold black on bright_green"
    elif entry.new > 0.0:
        mark, style = "+", "bright_green"
    else:
        mark, style = " ", ""
    score = Text(f"{rank}  {entry.score:.3f}", style="grey62")
    table.add_row(Text(mark, style="bright_green"), score, entry.line.clock, Text(entry.line.text, style=style))


def _footer(frame: Frame, width: int) -> RenderableType:
    row = Table.grid(expand=True, padding=(0, 2))
    row.add_column(ratio=1)
    row.add_column(no_wrap=True)
    row.add_row(_rates(frame.rates), Align.right(_sparkline(frame, 1 if width < NARROW else 3)))
    where = "engine" if frame.traffic is None else "pipeline"
    return Panel(
        row,
        title=f"so far, and per second of {where} time",
        title_align="left",
        subtitle=None if frame.traffic is None else status(frame.traffic),
        subtitle_align="left",
        border_style="grey35",
    )


def status(traffic: PipelineTraffic) -> str:
    """How the pipeline is doing, in a line."""
    seconds = traffic.seconds / max(traffic.batches, 1)
    return (
        f"Spark: micro-batch {traffic.batches:,} ({seconds:.2f} s each), {traffic.zones} zones, "
        f"a message to {traffic.replication:.2f} of them, {traffic.dead:,} dead letters"
    )


def _rates(rates: Rates) -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(4):
        table.add_column(justify="right", no_wrap=True)
    amounts = (rates.messages, rates.scores, rates.changes, rates.deliveries)
    table.add_row(*(Text(name, style="grey62") for name in ("messages", "scores", "changes", "deliveries")))
    table.add_row(*(Text(short(amount), style="bold") for amount in amounts))
    table.add_row(*(Text(f"{short(rates.per_second(amount))}/s", style="bright_cyan") for amount in amounts))
    return table


def short(amount: float) -> str:
    """A number of at most six characters: 950, 12.3k, 4.56M, 1.2G."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if amount >= limit:
            return f"{amount / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{amount:.0f}"


def _sparkline(frame: Frame, columns: int) -> Text:
    """Messages by hour, a column or three for each; the hour that runs is bright."""
    most = max(1, *frame.by_hour)
    current = min((frame.minute - OPENS - 1) // 60, len(frame.by_hour) - 1)
    text = Text(no_wrap=True)
    for hour, amount in enumerate(frame.by_hour):
        style = "bright_cyan" if hour == current else "cyan" if hour < current else "grey35"
        bar = BARS[round((len(BARS) - 1) * amount / most)]
        text.append((bar * max(1, columns - 1)).ljust(columns), style=style)
    every = range(0, len(frame.by_hour), 3 // columns)
    hours = "".join(f"{first_hour() + hour:02d} " for hour in every)
    return text + Text(f"\n{hours}\nmessages by hour", style="grey50")
