"""The data source ``hudiformat``."""
