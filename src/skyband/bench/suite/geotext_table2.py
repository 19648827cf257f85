"""Table 2 of the Skype paper: how many messages a subscription keeps, by buffer policy."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.paper import ratio_of
from skyband.bench.skype import DATA, ENGINE, FULL, LENGTH, SEARCHES, plot_of
from skyband.bench.suite.geotext_figure10 import measure

BENCHMARK = Benchmark(
    name="geotext-table2",
    summary="Table 2 of the Skype paper: the size of buffers by policy, from the runs of Figure 10.",
    measure=measure,
    columns=(DATA, ENGINE, LENGTH, ratio_of("row_length"), SEARCHES, FULL),
    plots=(plot_of("buffer", "Table 2: buffer size by policy", "data", "row_length", "messages in a row"),),
)
