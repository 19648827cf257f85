"""Peers: other systems, fetched by package managers, beside Skyband on the same data in one run.

`python -m bench.peers` runs them. Each peer is a class in one module of `bench.peers.systems`, which is where they are
found; none of this is part of the package that is installed.
"""
