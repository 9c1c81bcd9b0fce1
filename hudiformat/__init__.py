"""Apache Hudi's log-block format and table layout in pure Python."""
