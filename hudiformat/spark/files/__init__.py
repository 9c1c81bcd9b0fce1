"""The streaming file sink on Spark."""
