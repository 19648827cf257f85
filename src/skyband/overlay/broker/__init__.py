"""The broker without any input or output of its own: events in, effects out."""
