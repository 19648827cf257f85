"""A world for brokers: the same code as anywhere, under a seeded scheduler that delays, loses, repeats and crashes."""
