"""What lasts: the log of verbs, checkpoints of what they led to, and who may do what."""
