"""Begin and publish a commit: conflicts, markers, rollback, locks and heartbeats."""
