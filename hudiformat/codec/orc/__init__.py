"""ORC files, as far as pyarrow does not read and write them: the time zones of stripes, and texts of the footer."""
