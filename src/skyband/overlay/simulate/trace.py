"""Events as lines of a trace."""

from skyband.overlay.broker.event import Happening, Offered, Received, Started, Subscribed
from skyband.overlay.broker.frame import Publication


def _shown_publication(publication: Publication | None) -> str:
    if publication is None:
        return ""
    return f"{publication.key}" if publication.retracted is None else f"{publication.key}, retracted"


def shown(event: Happening) -> str:
    """What has happened to a broker, in a line."""
    if isinstance(event, Received):
        envelope = event.envelope
        frame = envelope.frame
        name = "nothing" if frame is None else type(frame).__name__.lower()
        what = _shown_publication(getattr(frame, "publication", None)) or getattr(frame, "until", "")
        return (
            f"gets {name} {what} from {envelope.source}.{envelope.incarnation} lane {envelope.lane}.{envelope.number}"
        )
    if isinstance(event, Offered | Subscribed):
        return f"is asked to {'publish' if isinstance(event, Offered) else 'subscribe'} {event.row}"
    if isinstance(event, Started):
        return f"starts with {len(event.records)} records"
    return str(event)
