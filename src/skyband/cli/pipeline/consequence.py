"""What follows from the settings of a pipeline, in sentences."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skyband.pipeline.config import Config


def consequences(config: "Config") -> list[str]:
    """What a user should know of these settings before they run."""
    return [*_of_zones(config), *_of_window(config), *_of_rows(config), *_of_sinks(config)]


def _of_zones(config: "Config") -> list[str]:
    from skyband.contract import FAMILIES
    from skyband.table import WindowKind

    workers = config.zones + 2
    told = [f"Spark keeps {workers} Python workers: one to prepare rows, the router, and one a zone."]
    if config.zones == 1:
        return told
    if config.zoning is None:
        told.append("The zones are fitted to a sample of what the sources hold when the pipeline is begun.")
    if config.granularity == "publication":
        told.append(
            "Every zone gets every publication, and one at a time, because granularity is publication: this is slow."
        )
    elif config.window.kind == WindowKind.COUNT:
        told.append("Every zone gets every publication, because a window by count has to count them all.")
    if FAMILIES[config.family].has_budgets:
        told.append("Subscriptions with a budget are rejected: budgets are counted in one place, and need one zone.")
    return told


def _of_window(config: "Config") -> list[str]:
    from skyband.contract import FAMILIES
    from skyband.table import WindowKind

    if not FAMILIES[config.family].has_windows:
        return []
    if config.window.kind == WindowKind.UNBOUNDED:
        return ["The pipeline has no window: it remembers every publication for ever, and its state grows with them."]
    if config.window.kind == WindowKind.TIME:
        return [
            f"Subscriptions may have a window of up to {config.window.size:,} microseconds; others are rejected. A "
            "publication that is older than that beside the newest one is late: it is counted and dropped."
        ]
    return [f"Subscriptions may have a window of up to {config.window.size:,} publications; others are rejected."]


def _of_rows(config: "Config") -> list[str]:
    from skyband.contract import FAMILIES

    told = [
        f"Ids are {config.ids.publications} in publications and {config.ids.subscriptions} in subscriptions"
        + (f", and {config.ids.objects} in objects" if FAMILIES[config.family].has_objects else "")
        + "; rows with other ids are rejected."
    ]
    if FAMILIES[config.family].has_words and config.words is None:
        told.append("There are no words to weigh terms with: publications without weights are rejected.")
    return told


def _of_sinks(config: "Config") -> list[str]:
    if not config.changes and not config.tops:
        return ["There is no sink: changes are computed and counted, and delivered nowhere."]
    return []
