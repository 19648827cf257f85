"""The content-driven network: zones of the subscription space, a broker for each, and messages between them."""

from skyband.overlay.routing import Network, Route, Traffic, boxes, deliver, quadrants, route
from skyband.overlay.topology import Topology, internet
from skyband.overlay.zones import Zones

__all__ = [
    "Network",
    "Route",
    "Topology",
    "Traffic",
    "Zones",
    "boxes",
    "deliver",
    "internet",
    "quadrants",
    "route",
]
