"""Trips of taxis on a cluster: a stream of changes into a table on HDFS that a Hive Metastore knows."""
