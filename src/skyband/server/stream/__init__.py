"""Streams: an engine each, the verbs that change it, their numbered steps, and the one thread that all live on."""
