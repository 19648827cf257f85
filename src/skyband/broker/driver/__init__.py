"""The driver of one broker: it hands events to the core, in a thread, and carries out what that wants done."""
