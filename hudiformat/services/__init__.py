"""Table services: compaction, clustering, cleaning, archiving, expiry, and which of them are due."""
