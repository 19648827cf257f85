"""Figure 8 of the ranked paper: what an event takes beside the SOPT-R-tree, by the number of dimensions."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.ranking_view import INDEX, RATIO, RATIO_BATCH, D, K
from skyband.bench.suite.ranked_figure7 import measure
from skyband.bench.view import SUBSCRIPTIONS, plot

BENCHMARK = Benchmark(
    name="ranked-figure8",
    summary="Figure 8 of the ranked paper: the time of an event in multiples of the SOPT-R-tree's, by dimensions.",
    measure=measure,
    columns=(D, INDEX, SUBSCRIPTIONS, K, RATIO, RATIO_BATCH),
    plots=(plot("ratio", "Figure 8: time beside SOPT-R, by dimensions", "d", "ratio", "multiples of SOPT-R"),),
)
