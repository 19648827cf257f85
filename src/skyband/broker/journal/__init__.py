"""The journal of a broker: what has to survive it, in one SQLite file that a thread of its own writes to."""
