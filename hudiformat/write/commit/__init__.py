"""Begin and publish a commit, with everything around it: conflicts, markers, rollback, locks and heartbeats."""
