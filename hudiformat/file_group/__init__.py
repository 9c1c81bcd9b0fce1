"""File groups: their slices, base files, the merging of log files, and the reader of one slice."""
