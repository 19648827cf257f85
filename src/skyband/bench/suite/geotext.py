"""The experiments of the Skype paper (section 7), and the engines of the family over growing numbers of subscriptions.

In Table 2 the paper measures while the tenth of a window passes that follows on the first searches, when rows of kmax
are still nearly as long as a search leaves them. Ours are shown then, a window later, and in the end.

With millions of subscriptions Scan is left out: it would take hours to fill its window. Engines are compared in one
heat where the memory holds them all. Otherwise ours takes turns with each of the others in a heat of its own: then only
ratios compare, and what ours took beside each is shown.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from skyband.bench.experiment import AnyExperiment, Experiment, Size, whole
from skyband.bench.geotext_contest import (
    SCAN,
    SKYPE,
    GeotextEntrant,
    GeotextMatch,
    GeotextPlan,
    GeotextSetting,
    compare_family,
    compare_millions,
    run_match,
)
from skyband.bench.geotext_corpus import REAL, Corpus
from skyband.bench.row import Row, number
from skyband.bench.runner import Spending, total_bytes
from skyband.bench.view import (
    SUBSCRIPTIONS,
    Plot,
    ViewColumn,
    algorithm,
    computed,
    count_given,
    described,
    given,
    only,
    plot,
    quotient,
    relative,
    shown,
    where,
    whole_number,
)
from skyband.geotext.workload import CORPORA

CIQ, OURS = GeotextEntrant("ciq-kmax", "ciq"), GeotextEntrant("blocks", "blocks")
EVERYBODY = (SKYPE, CIQ, OURS)
FAMILY = (SCAN, CIQ, SKYPE, OURS)
# What indexes count of what their bounds have saved.
BOUNDS = ("cells", "groups", "terminated", "prefix", "unseen", "blocks skipped")
# kmax in multiples of k: 20 to 120 at k = 20; and θ in multiples of kScore.
MULTIPLES, RATIOS = (1, 2, 3, 4, 5, 6), (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)
N_GROUPS = 10
PRUNINGS = ("cells", "groups", "termination", "prefix", "max_weight", "inner", "outer", "unseen")


def _without(label: str, *left_out: str) -> GeotextEntrant:
    return GeotextEntrant(label, "skype", {"prunings": [name for name in PRUNINGS if name not in left_out]})


PRUNED = (
    _without("igpt"),
    _without("ipt", "groups", "termination"),
    *(_without(f"without {name}", name) for name in PRUNINGS),
)
# All behind IGPT.
POLICIES = (
    GeotextEntrant("igpt-cskyband", "skype"),
    GeotextEntrant("igpt-kmax", "skype", {"policy": "kmax"}),
    GeotextEntrant("igpt-skyband", "skype", {"policy": "skyband"}),
    GeotextEntrant("igpt-margin", "skype", {"policy": "margin"}),
)


class GeotextScale(NamedTuple):
    """How much of section 7.1 is taken, by default all; `data` is for Figures 7 to 11, `two` for those after them.

    `shrink` divides vocabularies: with fewer messages in a window, words have to be fewer for as many of them to match.
    `at_once` engines are in memory at a time. Before policies are compared, `n_settled` messages pass in place of
    `n_warm`: rows of kmax start with 60 messages, and one and a half windows later had 44, none of them run short.
    """

    n_subscriptions: int = 1_000_000
    n_live: int = 1_000_000
    n_warm: int = 200_000
    n_settled: int = 1_000_000
    batch: int = 1000
    n_rounds: int = 100
    shrink: int = 1
    k: int = 20
    at_once: int = 3
    data: tuple[str, ...] = (*CORPORA, *REAL)
    two: tuple[str, ...] = ("tweets", "places")
    ks: tuple[int, ...] = (10, 20, 30, 40, 50, 60)
    groups: tuple[int, ...] = (5, 10, 20, 40)
    keywords: tuple[int, ...] = (1, 2, 3, 4, 5)
    multiples: tuple[int, ...] = (1, 2, 3, 4, 5)

    def setting(self, data: str, settled: bool = False) -> GeotextSetting:
        """The defaults on a data set."""
        corpus, n_warm = Corpus(data, self.shrink), self.n_settled if settled else self.n_warm
        return GeotextSetting(corpus, self.n_subscriptions, self.n_live, n_warm, self.batch, self.n_rounds, self.k)

    def on_every(self, entrants: Sequence[GeotextEntrant], settled: bool = False) -> Iterator[GeotextMatch]:
        """A contest on every data set."""
        return (GeotextMatch(self.setting(data, settled), entrants, self.at_once, data) for data in self.data)

    def over(self, x: str, values: Sequence[int]) -> Iterator[GeotextMatch]:
        """Skype, CIQ with kmax and ours on two data sets, in settings that differ in a parameter, which grows."""
        for data in self.two:
            spending = Spending()
            for n in values:
                more: dict[str, Any] = {x: n}
                setting = self.setting(data)._replace(**more)
                yield GeotextMatch(setting, EVERYBODY, self.at_once, f"{data}, {x} = {n:,}", x, spending)


SCALES: dict[Size, GeotextScale] = {
    # Without real data, so that what a toy run does is the same everywhere.
    "toy": GeotextScale(
        n_subscriptions=24, n_live=40, n_warm=20, n_settled=40, batch=10, n_rounds=2, shrink=10_000, k=3, at_once=2,
        data=("tweets", "places"), ks=(2, 4), groups=(2, 10), keywords=(1, 3), multiples=(1, 2),
    ),
    # A fiftieth of subscriptions, messages and words.
    "small": GeotextScale(
        n_subscriptions=20_000, n_live=20_000, n_warm=20_000, n_settled=100_000, n_rounds=10, shrink=50, at_once=16
    ),
    "full": GeotextScale(),
}  # fmt: skip


PLANS: dict[Size, GeotextPlan] = {
    "toy": GeotextPlan(((10, FAMILY), (20, FAMILY)), n_live=30, n_warm=10, n_rounds=2, batch=10, shrink=10_000, k=3),
    "small": GeotextPlan(
        ((10_000, FAMILY), (100_000, FAMILY)), n_live=100_000, n_warm=20_000, n_rounds=5, patience=15.0
    ),
    "full": GeotextPlan(
        tuple((n, FAMILY) for n in (10_000, 100_000, 1_000_000, 5_000_000)),
        n_live=1_000_000,
        n_warm=100_000,
        n_rounds=20,
        patience=300.0,
        budget=3600.0,
    ),
}
OURS_FIRST = (OURS, SKYPE, CIQ)
MILLIONS: dict[Size, GeotextPlan] = {
    "toy": GeotextPlan(
        ((20, OURS_FIRST), (40, (OURS,))), n_live=30, n_warm=10, n_rounds=2, batch=10, shrink=10_000, k=3
    ),
    "small": GeotextPlan(((1_000_000, OURS_FIRST), (5_000_000, (OURS,))), n_live=200_000, n_warm=5_000, n_rounds=5),
    "full": GeotextPlan(
        ((1_000_000, OURS_FIRST), (5_000_000, OURS_FIRST)), n_live=1_000_000, n_warm=50_000, n_rounds=20
    ),
}


def _by(row: Row) -> str:
    return str(row["parameters"]["granularity"])


def _each_second(row: Row) -> float:
    return 1e6 / float(row["measures"]["all_us"])


def _index_mb(row: Row) -> float:
    return float(row["measures"]["bytes.index"]) / 1e6


def _all_mb(row: Row) -> float:
    return total_bytes(row) / 1e6


def _index_each(row: Row) -> float:
    """Bytes of index for a subscription; Scan has none."""
    return float(row["measures"].get("bytes.index", 0.0)) / float(row["parameters"]["n_subscriptions"])


def _verified(row: Row) -> str:
    """How many pairs were scored in full for each that was within its bound."""
    found = row["measures"]
    return number(found["index.verified"] / found["index.accepted"]) if found.get("index.accepted") else ""


def _pruned(row: Row) -> str:
    found = [(bound, row["measures"].get(f"index.{bound}", 0.0)) for bound in BOUNDS]
    return ", ".join(f"{bound} {number(n)}" for bound, n in found if n)


def _tuned(row: Row) -> str:
    found = row["parameters"]
    return f"kmax = {found['kmax']}" if "kmax" in found else f"θ = {found['ratio']} kScore" if "ratio" in found else ""


def _tunings(scale: GeotextScale) -> Iterator[GeotextMatch]:
    """cSkyband under its defaults first, then every kmax and every θ, all behind IGPT."""
    entrants = [GeotextEntrant("cskyband", "skype")]
    entrants += [
        GeotextEntrant("kmax", "skype", {"policy": "kmax", "kmax": float(n)}, {"kmax": n * scale.k}) for n in MULTIPLES
    ]
    entrants += [GeotextEntrant("skyband", "skype", {"policy": "skyband", "ratio": ratio}) for ratio in RATIOS]
    yield GeotextMatch(scale.setting("tweets", settled=True), entrants, scale.at_once, "tweets")


def _numbers_of_groups(scale: GeotextScale) -> Iterator[GeotextMatch]:
    """The default first, which ratios are to."""
    numbers = [N_GROUPS, *(n for n in scale.groups if n != N_GROUPS)]
    return scale.on_every([GeotextEntrant(f"{n} groups", "skype", {"groups": n}) for n in numbers])


DATA, ENGINE = given("data set", "data"), algorithm("algorithm")
ARRIVAL, EXPIRY, ALL = (
    shown("µs a message: arrival", "arrival_us"),
    shown("expiry", "expiry_us"),
    shown("all", "all_us"),
)
ARRIVAL_RATIO, EXPIRY_RATIO, ALL_RATIO = (
    quotient("ratio", name, f"first.{name}") for name in ("arrival_us", "expiry_us", "all_us")
)
LENGTH, SEARCHES = shown("messages in a row", "row_length"), shown("searches a message", "reevaluated")
INDEX, MEMORY = computed("MB of index", _index_mb), computed("MB in all", _all_mb)
INDEX_EACH = computed("bytes of index for a subscription", _index_each)
VERIFIED, CANDIDATES = shown("pairs verified", "index.verified"), shown("candidates", "index.accepted")


def _entry(
    name: str,
    summary: str,
    sweep: Callable[[GeotextScale], Iterable[GeotextMatch]],
    columns: tuple[ViewColumn, ...],
    *plots: Plot,
) -> AnyExperiment:
    return Experiment(f"geotext-{name}", summary, SCALES, sweep, run_match, columns, plots)


def _sweep_entry(
    figure: int, by: str, header: str, x: str, values: Callable[[GeotextScale], Sequence[int]]
) -> AnyExperiment:
    """Figures 12 to 15: arrivals and expiries by a parameter, for each data set that is swept."""
    return _entry(
        f"figure{figure}",
        f"Figure {figure} of the Skype paper: the time of arrivals and expiries by {by}.",
        lambda scale: scale.over(x, values(scale)),
        (
            count_given(header, x),
            described("data set", lambda row: f"{row['parameters']['data']}, {row['algorithm']}"),
            *(ARRIVAL, EXPIRY, ALL, ALL_RATIO, SEARCHES, LENGTH, MEMORY),
        ),
        *(
            plot(
                f"{data}-{part}",
                f"Figure {figure}: {part}, {data}",
                x,
                f"{part}_us",
                f"µs a message, {part}",
                of=where(data=data),
                x_label=header,
            )
            for data in GeotextScale().two
            for part in ("arrival", "expiry")
        ),
    )


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="geotext",
        summary="Scan, CIQ with kmax, Skype and ours for the geotext family, over growing numbers of subscriptions.",
        scales=PLANS,
        sweep=whole,
        measure=compare_family,
        columns=(
            SUBSCRIPTIONS, ENGINE, given("granularity"), computed("messages a second", _each_second), ARRIVAL, EXPIRY,
            ALL, ALL_RATIO, quotient("ratio to skype", "all_us", "skype.all_us"),
            shown("candidates a message", "index.accepted"), described("verified for a candidate", _verified),
            described("pruned a message", _pruned), shown("changes a message", "changes"), SEARCHES, INDEX_EACH, LENGTH,
            whole_number("warmed up by", "warmed"),
        ),
        plots=(
            plot(
                "rate",
                "Messages a second, tweets",
                "n_subscriptions",
                _each_second,
                "messages a second",
                series=lambda row: f"{row['algorithm']}, by {_by(row)}",
            ),
            plot(
                "memory",
                "Bytes of index for a subscription, tweets",
                "n_subscriptions",
                _index_each,
                "bytes of index for a subscription",
                series=lambda row: f"{row['algorithm']}, by {_by(row)}",
                of=only(*(each.label for each in FAMILY[1:])),
            ),
        ),
    ),
    Experiment(
        name="geotext-million",
        summary="Ours, Skype and CIQ with millions of subscriptions by place and words.",
        scales=MILLIONS,
        sweep=lambda plan: ((plan.setting(n), entrants) for n, entrants in plan.sizes),
        measure=compare_millions,
        columns=(
            SUBSCRIPTIONS, ENGINE, ARRIVAL, EXPIRY, ALL, ALL_RATIO, shown("all, of ours beside it", "first.all_us"),
            shown("candidates a message", "candidates"), shown("changes a message", "changes"), SEARCHES, INDEX_EACH,
            LENGTH,
        ),
        plots=(
            plot("time", "Millions of subscriptions", "n_subscriptions", "all_us", "µs a message, arrival and expiry"),
        ),
    ),
    _entry(
        "table2",
        "Table 2 of the Skype paper: the size of buffers by policy, from the runs of Figure 10.",
        lambda scale: scale.on_every(POLICIES, settled=True),
        (
            DATA, ENGINE, shown("messages in a row after a tenth of a window", "row_length_tenth"),
            shown("after a window", "row_length_window"), shown("in the end", "row_length"),
            relative("ratio", "row_length"), SEARCHES,
            described("full tops", lambda row: f"{row['measures']['full']:.0%}"),
        ),
        plot("buffer", "Table 2: buffer size by policy", "data", "row_length", "messages in a row"),
    ),
    _entry(
        "figure6",
        "Figure 6 of the Skype paper: time and buffer size by kmax and by the threshold of k-skyband.",
        _tunings,
        (
            DATA, ENGINE, described("tuned to", _tuned), ARRIVAL, EXPIRY, ALL, ALL_RATIO, LENGTH, SEARCHES,
            given("subscriptions", "n_subscriptions"), given("window", "n_live"),
        ),
        *(
            plot(
                f"{letter}-{name}",
                f"Figure 6({letter}): {what}, {policy}",
                x,
                measured,
                what,
                of=only(policy, "cskyband"),
                x_label=x_label,
            )
            for letter, policy, x, x_label in (
                ("a", "kmax", "kmax", "kmax"),
                ("b", "skyband", "ratio", "θ in multiples of kScore"),
            )
            for name, measured, what in (
                ("time", "all_us", "µs a message"),
                ("buffer", "row_length", "messages in a row"),
            )
        ),
    ),
    _entry(
        "figure7",
        "Figure 7 of the Skype paper: the time of arrivals by the number of α-partition groups.",
        _numbers_of_groups,
        (
            DATA, given("groups"), ARRIVAL, ARRIVAL_RATIO, shown("groups skipped a message", "index.groups"),
            shown("entries visited", "index.entries"), VERIFIED, CANDIDATES,
        ),
        plot(
            "arrival",
            "Figure 7: arrivals by the number of groups",
            "groups",
            "arrival_us",
            "µs a message, arrival",
            series=lambda row: str(row["parameters"]["data"]),
        ),
    ),
    _entry(
        "figure8",
        "Figure 8 of the Skype paper: the time of arrivals with all prunings, with individual ones, and less one.",
        lambda scale: scale.on_every(PRUNED),
        (
            DATA, ENGINE, ARRIVAL, ARRIVAL_RATIO, shown("entries visited a message", "index.entries"), VERIFIED,
            CANDIDATES, shown("cells pruned", "index.cells"), shown("groups skipped", "index.groups"),
        ),
        plot("arrival", "Figure 8: effect of prunings", "data", "arrival_us", "µs a message, arrival"),
    ),
    _entry(
        "figure9",
        "Figure 9 of the Skype paper: the time of arrivals and the size of the subscription index, CIQ and IGPT.",
        lambda scale: scale.on_every(
            (GeotextEntrant("igpt", "skype"), GeotextEntrant("ciq", "ciq", {"policy": "cskyband"}), OURS)
        ),
        (
            DATA, ENGINE, ARRIVAL, ARRIVAL_RATIO, INDEX, shown("pairs verified a message", "index.verified"),
            CANDIDATES,
        ),
        plot("a", "Figure 9(a): arrivals", "data", "arrival_us", "µs a message, arrival"),
        plot("b", "Figure 9(b): size of the subscription index", "data", _index_mb, "MB"),
    ),
    _entry(
        "figure10",
        "Figure 10 of the Skype paper: the time of expiries by buffer policy.",
        lambda scale: scale.on_every(POLICIES, settled=True),
        (DATA, ENGINE, ARRIVAL, EXPIRY, EXPIRY_RATIO, ALL, SEARCHES, LENGTH),
        plot("expiry", "Figure 10: expiries by policy", "data", "expiry_us", "µs a message, expiry"),
    ),
    _entry(
        "figure11",
        "Figure 11 of the Skype paper: time of arrivals and expiries, and memory, for each data set.",
        lambda scale: scale.on_every(EVERYBODY),
        (DATA, ENGINE, ARRIVAL, EXPIRY, ALL, ALL_RATIO, INDEX, MEMORY, LENGTH),
        plot("a-arrival", "Figure 11(a): arrivals", "data", "arrival_us", "µs a message, arrival"),
        plot("a-expiry", "Figure 11(a): expiries", "data", "expiry_us", "µs a message, expiry"),
        plot("b", "Figure 11(b): memory", "data", _all_mb, "MB in all"),
    ),
    _sweep_entry(12, "the number of keywords", "keywords", "n_keywords", lambda scale: scale.keywords),
    _sweep_entry(13, "k", "k", "k", lambda scale: scale.ks),
    _sweep_entry(
        14,
        "the number of subscriptions",
        "subscriptions",
        "n_subscriptions",
        lambda scale: [n * scale.n_subscriptions for n in scale.multiples],
    ),
    _sweep_entry(
        15,
        "the size of the window",
        "messages in the window",
        "n_live",
        lambda scale: [n * scale.n_live for n in scale.multiples],
    ),
)  # fmt: skip
