"""Links over NATS: the same frames, through servers that others run, each of which may be lost at any time."""
