"""Scan for the window family: points scored by distance, sum or cosine."""

from skyband.contract import register
from skyband.topk.scan import ContinuousScan
from skyband.window.points import Points
from skyband.window.rows import Publications, Subscriptions


@register
class WindowScan(Points, ContinuousScan[Subscriptions, Publications]):
    """Top-k over points in sliding windows, by brute force."""

    name = "scan"
    good_for = "a few thousand subscriptions, any score, any number of dimensions, and as the baseline"
