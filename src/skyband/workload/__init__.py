"""Seeded workloads: subscriptions and publications for every family, with the papers' parameters as defaults.

The module `workload` of a family's room has the options, draws the tables, and holds a `Recipe` for all who ask the
family.
"""

from skyband.workload.recipe import Recipe, recipe_of, recipes
from skyband.workload.table import Workload

__all__ = ["Recipe", "Workload", "recipe_of", "recipes"]
