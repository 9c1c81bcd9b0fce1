"""What is told of a commit when it is there: a line of the log, metrics, a call by HTTP."""
