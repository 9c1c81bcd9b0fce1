"""Log blocks <-> bytes, and files of log blocks: read, write, verify, salvage."""
