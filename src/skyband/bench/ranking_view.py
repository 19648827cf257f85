"""What tables and figures of the ranked paper's evaluation show."""

from skyband.bench.benchmark import Column
from skyband.bench.paper import cell_of
from skyband.bench.row import number
from skyband.bench.view import given

INDEX = Column("index", lambda row, first: row["algorithm"])
SINGLE = Column("µs an event", cell_of("single_us"))
BATCH = Column("µs in a batch", cell_of("batch_us"))
RATIO = Column("ratio", lambda row, first: f"{row['measures']['ratio']:.3g}")
RATIO_BATCH = Column("ratio in a batch", lambda row, first: f"{row['measures']['ratio_batch']:.3g}")
BUILD = Column("s to build", cell_of("build_s"))
BYTES = Column("bytes an interval", cell_of("bytes"))
SORTED = Column("sorted accesses", cell_of("sorted"))
RANDOM = Column("random accesses", cell_of("random"))
EVENTS = Column("events timed", lambda row, first: number(row["n_operations"]))


D, K, DATA, MATCHING = given("d", "d"), given("k", "k"), given("data", "data"), given("matching", "matching")
