"""The chart of a network of brokers as people write it: one YAML file, the same at every site."""
