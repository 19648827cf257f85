"""What tables and figures of the covering benchmarks show."""

from skyband.bench.benchmark import Column
from skyband.bench.row import number
from skyband.bench.view import SUBSCRIPTIONS, given, shown

SEARCH = Column("search", lambda row, first: row["algorithm"])
ATTRIBUTES, DATA, SIDES = given("attributes", "attributes"), given("data", "data"), given("sides", "sides")
# What a row is about.
ABOUT = (SUBSCRIPTIONS, SEARCH, ATTRIBUTES, DATA, SIDES)
RATIO = shown("ratio", "ratio")
ASKED = Column("queries asked", lambda row, first: number(row["n_operations"]))
STEPS = shown("probes, nodes, leaves or rows", "steps")
BATCH = shown("µs in a batch", "batch_us")
SINGLE = shown("µs a query", "single_us")
