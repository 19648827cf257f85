"""Scan for the window family: points scored by distance, sum or cosine."""

from skyband.contract import register
from skyband.engines.continuous.points import Points
from skyband.engines.scan.continuous import ContinuousScan
from skyband.model.window import Publications, Subscriptions


@register
class WindowScan(Points, ContinuousScan[Subscriptions, Publications]):
    """Top-k over points in sliding windows, by brute force."""

    name = "scan"
    good_for = "a few thousand subscriptions, any score, any number of dimensions, and as the baseline"
