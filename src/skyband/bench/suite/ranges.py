"""The experiments of the ranges paper (section V and appendices), and painting in batches and behind the contract.

Bytes are in the paper's unit unless it says "as sent".
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from skyband.bench.experiment import AnyExperiment, Experiment
from skyband.bench.ranges_data import DENSE, RELAX, SPARSE, UNICAST, Approach, RangesSetting, loosened
from skyband.bench.ranges_engine import Growing, RangesPlan, Whole, compare_engines, compare_modes, paint_whole
from skyband.bench.ranges_paper import (
    AFFECTED_PAPER,
    EPSILONS,
    KS_SLOPED,
    LOOSE,
    LOOSE_DENSE,
    M_STOCKS,
    MIN_SLOPED,
    MIN_Y_PAPER,
    MIN_Y_STOCKS,
    ONE_SERVER,
    REDUNDANCY,
    REDUNDANCY_STOCKS,
    SCALES,
    SERVERS,
    SNAP_BY_M,
    SNAP_PAPER,
    SNAP_SLOPED,
    SNAP_STOCKS,
    VOLATILITIES,
    Figures,
    M,
    RangesScale,
    by_data_and_k,
    by_k,
    by_m,
    min_y_by_m,
    tiles_of,
)
from skyband.bench.ranges_traffic import Journey, send, send_stocks
from skyband.bench.ranges_trial import Series, run_series
from skyband.bench.row import Row, ns_per_operation
from skyband.bench.view import (
    RATIO,
    SUBSCRIPTIONS,
    K,
    Plot,
    ViewColumn,
    algorithm,
    beside,
    computed,
    count_given,
    described,
    each_second,
    given,
    multiple,
    only,
    plot,
    relative,
    shown,
    where,
)

APPROACH = algorithm("approach")
OBJECTS = count_given("objects", "n_objects")
EVENTS = shown("changes counted", "events")
MICROSECONDS = shown("µs a change", "us")
TIMES = multiple("ratio", "ratio_us")
BYTES, SENT_BYTES = shown("bytes, paper's unit", "bytes"), shown("bytes as sent", "sent_bytes")
MESSAGES, MOST_BYTES = shown("messages", "messages"), shown("most bytes, paper's unit", "bytes_max")
FIRST_K, MIN_Y, SNAP = (shown(name, name) for name in ("first_k", "min_y", "snap"))
AFFECTED, RECEIVED = shown("affected", "affected"), shown("received", "received")
FROM_SERVER = (
    shown("bytes from the server, paper's unit", "bytes"),
    shown("bytes from the server as sent", "sent_bytes"),
)


def _by_k_line(row: Row) -> str:
    """A line for each approach and k, named so that they sort by k."""
    return f"{row['algorithm']}, k = {row['parameters']['k']:>2}"


def _on_each(row: Row) -> str:
    """A line for Paint-Sparse on each set, and one for Paint-Dense, whose messages do not depend on it."""
    return f"{SPARSE.label}, {row['parameters']['data']}" if row["algorithm"] == SPARSE.label else DENSE.label


def _calls(row: Row) -> float:
    """All calls that the paper counts."""
    return float(sum(row["measures"].get(name, 0.0) for name in ("first_k", "min_y", "snap")))


def _redundancy(figures: Figures, m: int) -> tuple[ViewColumn, ...]:
    return (*beside("redundancy", "redundancy_changed", by_k(figures, m)), shown("of all messages", "redundancy"))


def _with_first(derive: Callable[[Row, Row], dict[str, float]]) -> Callable[[Iterable[Row]], Iterator[Row]]:
    """Rows with measures that follow from their own and from those of the first row of the contest."""

    def finish(rows: Iterable[Row]) -> Iterator[Row]:
        first: Row = {}
        for row in rows:
            first = first if first and first["contest"] == row["contest"] else row
            yield row | {"measures": row["measures"] | derive(row, first)}

    return finish


def _redundant(row: Row, exact: Row) -> dict[str, float]:
    """What is received too much, in multiples of what the first approach, which is exact, has.

    As in the paper, CN-Relax is held against the messages that tell the changed object, since it sends no others.
    """
    counted = {"redundancy": "received", "redundancy_changed": "affected"}
    own, others = row["measures"], exact["measures"]
    return {name: own[each] / others[each] - 1.0 for name, each in counted.items() if others.get(each)}


def _share(row: Row, dense: Row) -> dict[str, float]:
    return {"share": row["measures"]["messages"] / dense["measures"]["messages"]}


def _searches(row: Row, first: Row) -> dict[str, float]:
    return {"min": row["measures"].get("min_x", 0.0) + row["measures"].get("min_y", 0.0)}


def _servers_asked(row: Row, first: Row) -> dict[str, float]:
    told = row["measures"]
    return {"length": told["visited"] / (told["first_k"] + told["min_y"])}


def _figure15(scale: RangesScale) -> Iterator[Series]:
    """Both algorithms on every workload, and with changes that are Gaussian."""

    def series(part: str, about: str, setting: RangesSetting, ks: Sequence[int]) -> Series:
        return Series(setting, ks, (DENSE, SPARSE), prefix=about, more={"part": part, "workload": about})

    for few in scale.over(scale.figure15, scale.setting._replace(n_objects=scale.n_few)):
        yield series("a", "uniform", few, [scale.k])
        yield series("a", "clustered", few._replace(data="clustered"), [scale.k])
        for data in ("correlated", "anti-correlated"):
            yield series("a", data, few._replace(objects="clustered", data=data), [scale.k])
    for c in VOLATILITIES:
        gaussian = scale.setting._replace(change="gaussian", volatility=c)
        yield series("b", f"{gaussian.data}, c = {c:g}", gaussian, scale.ks)


def _sloped(scale: RangesScale) -> Iterator[Series]:
    """Paint-Dense and Paint-Sparse on each of the three sets of 1.5-dimensional subscriptions."""
    for data in ("dataset1", "dataset2", "dataset3"):
        ks = [k for k in scale.ks if k <= KS_SLOPED[-1]]
        yield Series(scale.sloped._replace(data=data), ks, (DENSE, SPARSE), prefix=data)


def _stocks(scale: RangesScale) -> Iterator[Journey]:
    n = min(M_STOCKS, scale.setting.n_subscriptions)
    yield scale.journey(scale.setting._replace(n_subscriptions=n, data="stocks"), scale.stocks)


def _servers(scale: RangesScale) -> Iterator[Series]:
    """Paint-Dense asks for objects only, so that a few subscriptions are enough."""
    n_objects, m = 10 * scale.setting.n_objects, min(1_000, scale.setting.n_subscriptions)
    setting = scale.setting._replace(n_objects=n_objects, n_subscriptions=m)
    yield Series(setting, scale.ks, (ONE_SERVER, SERVERS))


def _over(scale: RangesScale, ms: Sequence[int], approaches: Sequence[Approach]) -> Iterator[Series]:
    return (Series(setting, scale.ks, approaches) for setting in scale.over(ms))


TRAFFIC: tuple[ViewColumn, ...] = (
    K,
    APPROACH,
    shown("overlay bytes, paper's unit", "overlay_bytes"),
    relative("ratio", "overlay_bytes"),
    shown("IP bytes, paper's unit", "ip_bytes"),
    relative("ratio of IP bytes", "ip_bytes"),
    shown("overlay bytes as sent", "overlay_sent"),
    shown("IP bytes as sent", "ip_sent"),
    shown("overlay bytes if sent straight, paper's unit", "straight_overlay_bytes"),
    shown("IP bytes if sent straight, paper's unit", "straight_ip_bytes"),
    shown("overlay bytes to the server, paper's unit", "way_overlay"),
    shown("IP bytes to the server, paper's unit", "way_ip"),
    MESSAGES,
    *FROM_SERVER,
    MICROSECONDS,
    EVENTS,
)


def _traffic_plots(figure: str) -> tuple[Plot, ...]:
    return tuple(
        plot(letter, f"{figure}({letter}): {name} traffic for a change", "k", y, "bytes a change, paper's unit")
        for letter, name, y in (("a", "overlay", "overlay_bytes"), ("b", "IP", "ip_bytes"))
    )


def _by_m_plot(letter: str, title: str, y: Any, y_label: str, *approaches: str) -> Plot:
    return plot(letter, title, "n_subscriptions", y, y_label, series=_by_k_line, of=only(*approaches))


def _figure11_plot(letter: str, *approaches: str) -> Plot:
    title = f"Figure 11({letter}): bytes from the server for a change, {' and '.join(approaches)}"
    return _by_m_plot(letter, title, "bytes", "bytes a change, paper's unit", *approaches)


def _largest_k(row: Row) -> bool:
    """At size toy it is 3."""
    return row["parameters"]["k"] in (3, 20)


def _entry(
    name: str,
    summary: str,
    sweep: Callable[[RangesScale], Iterable[Any]],
    columns: tuple[ViewColumn, ...],
    *plots: Plot,
    derive: Callable[[Row, Row], dict[str, float]] | None = None,
    measure: Callable[..., Iterable[Row]] = run_series,
) -> AnyExperiment:
    finish = iter if derive is None else _with_first(derive)
    return Experiment(f"ranges{name}", summary, SCALES, sweep, measure, columns, plots, finish)


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    _entry(
        "",
        "All approaches of the ranges paper side by side: time, messages, bytes and calls, by subscriptions and k.",
        lambda scale: _over(scale, scale.ms, (UNICAST, DENSE, SPARSE, LOOSE_DENSE[-1], LOOSE, RELAX)),
        (
            SUBSCRIPTIONS, APPROACH, K, computed("changes a second", each_second), MICROSECONDS, TIMES, MESSAGES, BYTES,
            SENT_BYTES, relative("ratio of bytes", "bytes"), MOST_BYTES, FIRST_K, MIN_Y, SNAP, AFFECTED, RECEIVED,
            EVENTS, shown("changes timed", "timed"),
        ),
        *(
            plot(name, f"At the server: {what}, k = 20", "n_subscriptions", y, what, of=_largest_k)
            for name, y, what in (("time", "us", "µs a change"), ("bytes", "bytes", "bytes a change, paper's unit"))
        ),
    ),
    _entry(
        "-growth",
        "Paint-Dense and Paint-Sparse by the number of objects, with 200,000 subscriptions to the 10 best.",
        lambda scale: (
            Series(
                scale.setting._replace(n_objects=n, n_subscriptions=scale.ms[0]),
                (scale.k,),
                (DENSE, SPARSE),
                said=f"{n:,} objects",
            )
            for n in scale.n_objects
        ),
        (OBJECTS, APPROACH, K, MICROSECONDS, TIMES, MESSAGES, FIRST_K, MIN_Y, SNAP, EVENTS),
        plot("time", "Time for a change by objects", "n_objects", "us", "µs a change"),
    ),
    _entry(
        "-table1",
        "Table I of the ranges paper: subscriptions that a change affects, and messages that they receive, by k.",
        # Paint-Dense stands for every exact approach: the same are affected, and it takes the least time.
        lambda scale: (
            Series(scale.setting._replace(n_events=scale.n_exact), scale.ks, [DENSE], together=True),
        ),
        (
            K, APPROACH, *beside("affected", "affected", by_k(AFFECTED_PAPER)), relative("ratio", "affected"),
            shown("most affected", "affected_max"), shown("messages received", "received"), EVENTS,
            computed("changes a second", each_second),
        ),
        plot("affected", "Table I: subscriptions affected by a change", "k", "affected", "affected a change"),
    ),
    _entry(
        "-table2",
        "Table II of the ranges paper: redundancy in the messages that subscriptions receive, by k and ε.",
        lambda scale: (
            Series(scale.counted(), scale.ks, (SPARSE, *(loosened(SPARSE, each) for each in EPSILONS), RELAX)),
        ),
        (
            K, APPROACH, *_redundancy(REDUNDANCY, M), shown("messages received", "received"),
            relative("ratio", "received"), shown("messages sent", "messages"), MICROSECONDS, EVENTS,
        ),
        derive=_redundant,
    ),
    _entry(
        "-table3",
        "Table III of the ranges paper: calls to the indexes for a change, by k.",
        lambda scale: (Series(scale.counted(), scale.ks, (UNICAST, DENSE, SPARSE)),),
        (
            K, APPROACH, FIRST_K, *beside("min_y", "min_y", by_k(MIN_Y_PAPER)),
            *beside("snap", "snap", by_k(SNAP_PAPER)), shown("emptiness tests", "empty"),
            shown("snaps for the reach", "reach"), MICROSECONDS, TIMES, EVENTS,
        ),
        plot("calls", "Table III: calls of min_y for a change", "k", "min_y", "calls a change"),
    ),
    _entry(
        "-table4",
        "Table IV of the ranges paper: calls to the indexes for a change, by the number of subscriptions.",
        lambda scale: (
            Series(setting, [scale.k], (UNICAST, DENSE, SPARSE))
            for setting in scale.over(scale.table4, scale.counted())
        ),
        (
            SUBSCRIPTIONS, APPROACH, K, FIRST_K, *beside("min_y", "min_y", min_y_by_m),
            *beside("snap", "snap", by_m(SNAP_BY_M)), MESSAGES, described("tiles, paper", tiles_of), MICROSECONDS,
            TIMES, EVENTS,
        ),
        plot("calls", "Table IV: calls of min_y for a change, k = 10", "n_subscriptions", "min_y", "calls a change"),
    ),
    _entry(
        "-table5",
        "Table V of the ranges paper: redundancy in the messages that subscriptions receive, on stocks.",
        _stocks,
        (
            K, APPROACH, *_redundancy(REDUNDANCY_STOCKS, M_STOCKS), AFFECTED, shown("messages received", "received"),
            relative("ratio", "received"), EVENTS,
        ),
        derive=_redundant,
        measure=send_stocks,
    ),
    _entry(
        "-table6",
        "Table VI of the ranges paper: calls to the indexes for a change, on stocks.",
        _stocks,
        (
            K, APPROACH, FIRST_K, *beside("min_y", "min_y", by_k(MIN_Y_STOCKS, M_STOCKS)),
            *beside("snap", "snap", by_k(SNAP_STOCKS, M_STOCKS)), MICROSECONDS, TIMES, *FROM_SERVER, EVENTS,
        ),
        plot("calls", "Table VI: calls of min_y for a change", "k", "min_y", "calls a change"),
        measure=send_stocks,
    ),
    _entry(
        "-table7",
        "Table VII of the ranges paper: searches for objects for a change, with 1.5-dimensional subscriptions.",
        _sloped,
        (
            given("data set", "data"), APPROACH, K, *beside("min", "min", by_data_and_k(MIN_SLOPED)),
            shown("min_x", "min_x"), MIN_Y, FIRST_K, MICROSECONDS, TIMES, EVENTS,
        ),
        plot("calls", "Table VII: searches for objects for a change", "k", "min", "searches a change", series=_on_each),
        derive=_searches,
    ),
    _entry(
        "-table8",
        "Table VIII of the ranges paper: searches for subscriptions for a change, with 1.5-dimensional ones.",
        _sloped,
        (
            given("data set", "data"), APPROACH, K, *beside("snap", "snap", by_data_and_k(SNAP_SLOPED)),
            shown("emptiness tests", "empty"), shown("snaps for the reach", "reach"), MESSAGES, MICROSECONDS, TIMES,
            EVENTS,
        ),
        plot(
            "calls",
            "Table VIII: searches for subscriptions for a change",
            "k",
            "snap",
            "searches a change",
            series=_on_each,
            of=only(SPARSE.label),
        ),
        derive=_searches,
    ),
    _entry(
        "-figure11",
        "Figure 11 of the ranges paper: bytes from the server for a change, by the number of subscriptions and k.",
        lambda scale: _over(scale, scale.growth, (UNICAST, DENSE, SPARSE, LOOSE)),
        (
            SUBSCRIPTIONS, APPROACH, K,
            *beside(BYTES.header, "bytes", by_k({"Unicast": (316_158,), "Paint-Dense": (3_501,)}, 5_000_000, (20,))),
            relative("ratio", "bytes"), SENT_BYTES, MESSAGES, MICROSECONDS, EVENTS,
        ),
        _figure11_plot("a", "Unicast", "Paint-Dense"),
        _figure11_plot("b", "Paint-Dense", "Paint-Sparse"),
        _figure11_plot("c", "Paint-Sparse", "Paint-Sparse(1)"),
    ),
    _entry(
        "-figure12",
        "Figure 12 of the ranges paper: bytes from the server for a change, by approach and by ε.",
        lambda scale: (Series(scale.setting, scale.ks, (UNICAST, DENSE, SPARSE, *LOOSE_DENSE, LOOSE)),),
        (K, APPROACH, BYTES, SENT_BYTES, relative("ratio", "bytes"), MESSAGES, MOST_BYTES, MICROSECONDS, EVENTS),
        plot(
            "a",
            "Figure 12(a): bytes from the server for a change",
            "k",
            "bytes",
            "bytes a change",
            of=only("Unicast", "Paint-Dense", "Paint-Sparse", "Paint-Dense(1)", "Paint-Sparse(1)"),
        ),
        plot(
            "b",
            "Figure 12(b): bytes from the server for a change, Paint-Dense(ε)",
            "k",
            "bytes",
            "bytes a change",
            of=only(DENSE.label, *(approach.label for approach in LOOSE_DENSE)),
        ),
    ),
    _entry(
        "-figure13",
        "Figure 13 of the ranges paper: the most bytes from the server for one change, and calls for a change.",
        lambda scale: _over(scale, scale.growth, (UNICAST, DENSE, SPARSE, LOOSE)),
        (
            SUBSCRIPTIONS, APPROACH, K,
            *beside(
                MOST_BYTES.header,
                "bytes_max",
                by_k({"Unicast": (39_998_000,), "Paint-Sparse": (31_752,)}, 5_000_000, (20,)),
            ),
            relative("ratio", "bytes_max"), shown("most bytes as sent", "sent_bytes_max"), FIRST_K, MIN_Y, SNAP,
            MICROSECONDS, EVENTS,
        ),
        _by_m_plot(
            "a",
            "Figure 13(a): the most bytes from the server for one change",
            "bytes_max",
            "bytes",
            *("Unicast", "Paint-Sparse"),
        ),
        _by_m_plot("b", "Figure 13(b): calls for a change", _calls, "calls a change", "Unicast", "Paint-Sparse"),
    ),
    _entry(
        "-figure14",
        "Figure 14 of the ranges paper: overlay and IP traffic in the broker network for a change, by k.",
        lambda scale: (scale.journey(scale.setting._replace(n_events=scale.n_carried)),),
        TRAFFIC,
        *_traffic_plots("Figure 14"),
        measure=send,
    ),
    _entry(
        "-figure15",
        "Figure 15 of the ranges paper: messages of Paint-Sparse beside Paint-Dense by workload; Gaussian changes.",
        _figure15,
        (
            given("workload"), APPROACH, SUBSCRIPTIONS, OBJECTS, K, MESSAGES, shown("ratio", "share"), BYTES,
            SENT_BYTES, shown("exposed objects", "exposed"), MICROSECONDS, EVENTS,
        ),
        plot(
            "a",
            "Figure 15(a): messages of Paint-Sparse in multiples of those of Paint-Dense",
            "workload",
            "share",
            "Paint-Sparse / Paint-Dense",
            series=lambda row: f"{row['parameters']['n_subscriptions']:,} subscriptions",
            of=lambda row: where(part="a")(row) and only(SPARSE.label)(row),
        ),
        plot(
            "b",
            "Figure 15(b): bytes from the server for a change that is Gaussian",
            "k",
            "bytes",
            "bytes a change",
            series=lambda row: f"{row['algorithm']}, c = {row['parameters']['volatility']:g}",
            of=where(part="b"),
        ),
        derive=_share,
    ),
    _entry(
        "-figure16",
        "Figure 16 of the ranges paper: a batch of changes online, coalesced and by Paint-Batch.",
        lambda scale: (Whole(scale.setting._replace(n_events=scale.n_batch, n_warm=0), scale.ks),),
        (
            K, algorithm("mode"), shown("changes", "changes"), MESSAGES, relative("ratio", "messages"), RECEIVED,
            relative("ratio of received", "received"), MIN_Y, relative("ratio of min_y", "min_y"),
            computed("µs a change", lambda row: ns_per_operation(row) / 1e3),
        ),
        *(
            plot(letter, f"Figure 16({letter}): {what} for a batch", "k", y, what)
            for letter, what, y in (
                ("a", "messages generated", "messages"),
                ("b", "messages received", "received"),
                ("c", "calls of min_y", "min_y"),
            )
        ),
        measure=paint_whole,
    ),
    _entry(
        "-figure17",
        "Figure 17 of the ranges paper: overlay and IP traffic in the broker network for a change, on stocks.",
        _stocks,
        TRAFFIC,
        *_traffic_plots("Figure 17"),
        measure=send_stocks,
    ),
    _entry(
        "-figure20",
        "Figure 20 of the ranges paper: servers that are asked for a search, by k, with 100 servers.",
        _servers,
        (
            K, APPROACH, OBJECTS, shown("servers asked a search", "length"), shown("servers asked a change", "visited"),
            FIRST_K, MIN_Y, MICROSECONDS, TIMES, EVENTS,
        ),
        plot("length", "Figure 20: servers asked for a search", "k", "length", "servers"),
        derive=_servers_asked,
    ),
    _entry(
        "-figure26",
        "Figure 26 of the ranges paper: bytes from the server for a change, with 1.5-dimensional subscriptions.",
        _sloped,
        (
            given("data set", "data"), APPROACH, K, shown("bytes, as if in the paper's unit", "bytes"), SENT_BYTES,
            relative("ratio", "bytes"), shown("most bytes, as if in the paper's unit", "bytes_max"), MESSAGES, AFFECTED,
            RECEIVED, MICROSECONDS, EVENTS,
        ),
        plot("a", "Figure 26(a): bytes from the server for a change", "k", "bytes", "bytes a change", series=_on_each),
        plot(
            "b",
            "Figure 26(b): the most bytes from the server for one change",
            "k",
            "bytes_max",
            "bytes",
            series=_on_each,
        ),
        derive=_searches,
    ),
    Experiment(
        name="ranges-batch",
        summary="Paint-Batch and change by change, by the number of objects, of ks and of changes in a batch.",
        scales={
            "toy": ((12, 40), ((1, 2), (4, 2)), 40),
            "small": ((10_000, 100_000), ((1, 100), (100, 10)), 20_000),
            "full": ((10_000, 100_000, 1_000_000), ((1, 200), (100, 20), (10_000, 3)), 20_000),
        },
        sweep=lambda scale: (
            Growing(n, ks, scale[1], scale[2]) for n in scale[0] for ks in ((10,), tuple(range(1, 11)))
        ),
        measure=compare_modes,
        columns=(
            given("measured"), OBJECTS, given("ks", "n_ks"), count_given("changes in a batch", "batch"),
            algorithm("mode"), computed("µs a batch", lambda row: ns_per_operation(row) * row["n_operations"] / 1e3),
            RATIO, shown("told a change", "told"),
        ),
    ),
    Experiment(
        name="ranges-engine",
        summary="Scan and paint behind the contract, with every subscriber's list, in batches of 100 changes, k = 10.",
        scales={
            "toy": ((30, 60), 30, 20, 2, 4),
            "small": ((10_000, 100_000, 1_000_000), 100_000, 10_000, 10, 100),
            "full": ((10_000, 100_000, 1_000_000, 2_000_000), 100_000, 10_000, 20, 100),
        },
        sweep=lambda scale: (RangesPlan(n, n <= scale[1], *scale[2:]) for n in scale[0]),
        measure=compare_engines,
        columns=(
            given("subscriptions", "n_subscriptions"), algorithm("engine"),
            computed("µs a change of an object", lambda row: ns_per_operation(row) / 1e3), RATIO,
            shown("changes of answers", "changes"), shown("ns a change of an answer", "ns_a_change"),
            shown("bytes a subscription", "bytes"),
        ),
        plots=(
            plot(
                "time",
                "A change of an object, with the lists of all it concerns",
                "n_subscriptions",
                lambda row: ns_per_operation(row) / 1e3,
                "µs",
            ),
        ),
    ),
)  # fmt: skip
