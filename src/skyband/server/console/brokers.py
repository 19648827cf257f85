"""The brokers of a network, as their metrics tell: which answer, and what has gone over which link."""

import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from skyband.server.console.metrics_text import Sample, read_metrics

WAIT_SECONDS = 1.5
MOST_BYTES = 4 << 20
MOST_ASKED = 16
"""How many brokers are asked at the same time."""
PREFIX = "skyband_broker_"
OF_LINKS = {"link_up": "up", "link_bytes_out_total": "bytes", "link_frames_out_total": "messages"}
"""What is told of each peer, by what it is called here."""


def brokers_of(addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each broker with its numbers and links, or with why it does not answer."""
    if not addresses:
        return []
    with ThreadPoolExecutor(min(len(addresses), MOST_ASKED)) as pool:
        return list(pool.map(_told, addresses.items()))


def told_by(samples: Sequence[Sample]) -> dict[str, Any]:
    """The links of a broker, by its peers, and its own numbers."""
    links: dict[str, dict[str, Any]] = {}
    numbers: dict[str, float] = {}
    for sample in samples:
        name, peer = sample.name.removeprefix(PREFIX), sample.labels.get("peer")
        if name == sample.name:
            continue
        if peer is None:
            plain = name.removesuffix("_total").replace("_", " ")
            numbers[plain] = numbers.get(plain, 0.0) + sample.value
        elif name in OF_LINKS:
            links.setdefault(peer, {"to": peer, "up": 0.0, "bytes": 0.0, "messages": 0.0})[OF_LINKS[name]] = (
                sample.value
            )
    return {"links": [link | {"up": link["up"] > 0} for link in links.values()], "numbers": numbers}


def _told(broker: tuple[str, str]) -> dict[str, Any]:
    name, address = broker
    found = {"name": name, "address": address, "up": True, "trouble": None, "links": [], "numbers": {}}
    try:
        with urllib.request.urlopen(address, timeout=WAIT_SECONDS) as answer:
            return found | told_by(read_metrics(answer.read(MOST_BYTES).decode("utf-8", "replace")))
    except (OSError, ValueError) as error:
        return found | {"up": False, "trouble": f"It does not answer: {error}."}
