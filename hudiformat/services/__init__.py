"""Table services: compaction, clustering, cleaning, archiving, expiry, and the decision which of them are due."""
