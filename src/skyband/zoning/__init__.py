"""Zones for subscriptions, and what is of interest to each: whom a publication need not be sent to."""

from skyband.zoning.admission import Interest, interest
from skyband.zoning.group import GROUPS
from skyband.zoning.together import Together
from skyband.zoning.zoning import Zoning, fit

__all__ = ["GROUPS", "Interest", "Together", "Zoning", "fit", "interest"]
