"""The network of the ranges paper, running: a server that paints, and brokers of zones that pass its messages on."""
