"""Ranges: the k best objects by y among those whose x lies in a subscription's range, kept by painting messages."""

from skyband.engines.ranges.subscribers import SubscriberTable

__all__ = ["SubscriberTable"]
