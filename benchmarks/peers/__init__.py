"""What hudiformat, deltalake, pyiceberg and hudi-rs can do to a table from Python: ``python -m benchmarks.peers``."""
