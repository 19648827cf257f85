"""The figures of a broker as Prometheus reads them, made of its status."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """A name, what it means, whether it only grows, and its values by labels."""

    name: str
    help: str
    kind: str
    values: list[tuple[dict[str, str], float]]


def figures_of(status: dict[str, Any]) -> list[Figure]:
    """What there is to watch."""
    home, journal, queues, clock = (status[name] for name in ("home", "journal", "queues", "clock"))
    own = {"strategy": status["strategy"]}
    return [
        _one("up", "Whether the core of the broker talks to others.", "gauge", own, status["is_live"]),
        _one("chart_version", "The version of the chart.", "gauge", {}, status["chart"]["version"]),
        _one("incarnation", "The life of the broker, one more with each start.", "gauge", {}, status["incarnation"]),
        _one("clock_offset_seconds", "How far time is ahead of the machine's.", "gauge", {}, clock["offset_us"] / 1e6),
        _one("lag_seconds", "How far answers are behind time.", "gauge", own, home["lag_us"] / 1e6),
        _one("subscriptions", "Subscriptions of clients here.", "gauge", own, home["subscriptions"]),
        _one(
            "publications_kept", "Publications of clients here that may matter yet.", "gauge", own, home["publications"]
        ),
        _one("changes_total", "Changes of tops that were told here.", "counter", own, home["changes"]),
        _one("proxies", "Proxies of subscriptions elsewhere that are kept here.", "gauge", own, status["proxies"]),
        _one("covered", "Proxies that need not be passed on over a link.", "gauge", own, status["covered"]),
        _one("recalls_total", "Recalls that were sent.", "counter", own, _n_recalls(status)),
        _one("journal_records", "Records in the journal.", "gauge", {}, journal["records"]),
        _one("journal_bytes", "The size of the journal.", "gauge", {}, journal["bytes"]),
        _one("journal_commits_total", "Groups that were synced.", "counter", {}, journal["commits"]),
        _one("journal_is_full", "Whether the journal cannot be written.", "gauge", {}, bool(journal["trouble"])),
        _one("queued_tasks", "Frames and requests that wait for the core.", "gauge", {}, queues["tasks"]),
        _one("unsynced_requests", "Requests that wait to be durable.", "gauge", {}, queues["unsynced"]),
        _one("delayed_publications", "Durable publications that wait for credit.", "gauge", own, queues["delayed"]),
        *_link_figures(status),
    ]


def exposition(figures: Iterable[Figure]) -> str:
    """Figures as text."""
    lines: list[str] = []
    for figure in figures:
        lines += [f"# HELP {figure.name} {figure.help}", f"# TYPE {figure.name} {figure.kind}"]
        lines += [f"{figure.name}{_braced(labels)} {value:.15g}" for labels, value in figure.values]
    return "\n".join(lines) + "\n"


LINK_FIGURES = (
    ("link_up", "Whether a peer is connected.", "gauge", "is_connected"),
    ("link_connections_total", "How often a peer was connected.", "counter", "connections"),
    ("link_frames_in_total", "Frames from a peer.", "counter", "frames_in"),
    ("link_frames_out_total", "Frames to a peer.", "counter", "frames_out"),
    ("link_bytes_in_total", "Bytes from a peer.", "counter", "bytes_in"),
    ("link_bytes_out_total", "Bytes to a peer.", "counter", "bytes_out"),
    ("link_dropped_total", "Frames that were lost as a peer could not take them.", "counter", "dropped"),
    ("link_bad_total", "How often a peer has sent what no broker sends.", "counter", "bad"),
    ("link_queued_bytes", "Bytes that wait to be written to a peer.", "gauge", "queued_bytes"),
    ("link_unacknowledged", "Frames that a peer has not acknowledged.", "gauge", "unacknowledged"),
    ("link_waiting", "Frames that wait for the credit of a peer.", "gauge", "waiting"),
    ("link_credit_left", "How many publications a peer still takes.", "gauge", "credit_left"),
)


def _link_figures(status: dict[str, Any]) -> list[Figure]:
    strategy, links = status["strategy"], status["links"]
    found = []
    for name, meaning, kind, key in LINK_FIGURES:
        values = [({"peer": link["peer"], "strategy": strategy}, float(link.get(key, 0))) for link in links]
        found.append(Figure(f"skyband_broker_{name}", meaning, kind, values))
    for unit in ("frames", "bytes"):
        values = [
            ({"kind": each["kind"], "peer": each["peer"], "strategy": strategy}, float(each[unit]))
            for each in status["sent"]
        ]
        meaning = f"The {unit} of frames that were sent to a peer, by what they are."
        found.append(Figure(f"skyband_broker_sent_{unit}_total", meaning, "counter", values))
    return found


def _n_recalls(status: dict[str, Any]) -> int:
    return sum(each["frames"] for each in status["sent"] if each["kind"] == "Recall")


def _one(name: str, meaning: str, kind: str, labels: dict[str, str], value: float) -> Figure:
    return Figure(f"skyband_broker_{name}", meaning, kind, [(labels, float(value))])


def _braced(labels: dict[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in sorted(labels.items()))
    return f"{{{inner}}}" if inner else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
