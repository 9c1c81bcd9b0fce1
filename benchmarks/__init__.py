"""Speed and memory of the log-block codec against its peers, in one run on the same rows: ``python -m benchmarks``."""
