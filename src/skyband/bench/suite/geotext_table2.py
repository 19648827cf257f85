"""Table 2 of the Skype paper: how many messages a subscription keeps, by buffer policy.

The paper measures while the tenth of a window passes that follows on the first searches, when rows of kmax are still
nearly as long as a search leaves them. Ours are shown then, a window later, and in the end.
"""

from skyband.bench.benchmark import Benchmark
from skyband.bench.paper import ratio_of
from skyband.bench.skype import DATA, ENGINE, FULL, SEARCHES, plot_of, shown
from skyband.bench.suite.geotext_figure10 import measure

BENCHMARK = Benchmark(
    name="geotext-table2",
    summary="Table 2 of the Skype paper: the size of buffers by policy, from the runs of Figure 10.",
    measure=measure,
    columns=(
        DATA,
        ENGINE,
        shown("messages in a row after a tenth of a window", "row_length_tenth"),
        shown("after a window", "row_length_window"),
        shown("in the end", "row_length"),
        ratio_of("row_length"),
        SEARCHES,
        FULL,
    ),
    plots=(plot_of("buffer", "Table 2: buffer size by policy", "data", "row_length", "messages in a row"),),
)
