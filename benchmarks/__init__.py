"""Named workloads with peers beside us in one run; start with ``python -m benchmarks --help``."""
