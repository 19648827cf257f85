"""The engines of the ranked family: an index of parts in each dimension, and the search that merges them."""
