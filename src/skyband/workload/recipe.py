"""How the workload of one family is made: asked of the family."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.family import FAMILIES, names_where
from skyband.workload.table import Workload

Columns = dict[str, pa.Array]


class Recipe(NamedTuple):
    """What makes the workload of a family.

    `options` is a dataclass of `option` fields, `generate` makes all from it, and `help` is a sentence for the command
    line. `stream` makes the publications in batches of a size, which may be more than fit in memory; `subscriptions`
    then makes the others. `chunk` makes what the rows of one chunk hold besides id, k and time, given "publications" or
    "subscriptions" and its number. `second` is what the other table holds than subscriptions.
    """

    options: type[Any]
    generate: Callable[[Any], Workload]
    help: str
    subscriptions: Callable[[Any], pa.Table] | None = None
    stream: Callable[[Any, int], Iterator[pa.Table]] | None = None
    chunk: Callable[[Any, str, int], Columns] | None = None
    second: str = "publications"


def recipe_of(family: str) -> Recipe:
    """How the workload of a family is made."""
    recipe: Recipe | None = FAMILIES[family].recipe
    if recipe is None:
        raise ValueError(f"The family {family} has no workload.")
    return recipe


def recipes() -> dict[str, Recipe]:
    """How workloads are made, for each family that has one."""
    return {name: recipe_of(name) for name in names_where(lambda family: family.recipe)}
