"""What an address asks to be pushed: subscriptions, mode, rate and where to go on from."""

import math
from collections.abc import Mapping
from urllib.parse import parse_qs

from skyband.server.access.doorway import require, require_id
from skyband.server.access.token import Caller
from skyband.server.push.push_request import PushMode, PushRequest
from skyband.table.argument import check_choice

KNOWN = ("subscriptions", "subscription", "mode", "rate", "last_event_id", "ticket")
MOST_NAMES = 10_000
FASTEST = 1000.0


def read_query(query: bytes) -> dict[str, list[str]]:
    """The parameters of an address; one that is not known is refused."""
    found = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_NAMES)
    for name in found:
        if name not in KNOWN:
            raise ValueError(f"There is no parameter {name[:80]!r}; there are {', '.join(KNOWN)}.")
    return found


def push_request(
    caller: Caller, stream: str, query: Mapping[str, list[str]], headers: Mapping[str, str]
) -> PushRequest:
    """What is asked for, of what the caller may see."""
    require(caller, "read")
    names = _names(query)
    for name in names or ():
        require_id(caller, name)
    mode = query.get("mode", ["every"])[-1]
    check_choice("mode", mode, PushMode)
    # A browser sends the header when it connects again, and the address is still that of the first time.
    last = headers.get("last-event-id") or query.get("last_event_id", [""])[-1]
    rate = _rate(query.get("rate", [None])[-1], mode)
    return PushRequest(
        (caller.tenant, stream),
        names,
        mode,  # type: ignore[arg-type]  # checked above
        rate,
        last or None,
        caller.prefix,
        caller.token,
    )


def _names(query: Mapping[str, list[str]]) -> tuple[str, ...] | None:
    """The subscriptions, of which one alone may have a comma in its id; None for all."""
    listed = [name for names in query.get("subscriptions", []) for name in names.split(",") if name]
    listed += query.get("subscription", [])
    return tuple(dict.fromkeys(listed)) if listed else None


def _rate(given: str | None, mode: str) -> float | None:
    if given is None:
        return None
    if mode != "latest":
        raise ValueError("rate belongs to mode=latest: in the mode every, nothing is left out.")
    try:
        rate = float(given)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= FASTEST:
        raise ValueError(f"rate is how many events come per second at most, up to {FASTEST:g}, not {given[:80]!r}.")
    return rate
