"""The data source ``hudiformat`` (PySpark 4): readers and writers, batches and streams."""
