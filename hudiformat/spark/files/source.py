"""The file sink as a data source for streams, ``hudiformat-files`` (PySpark 4.1).

Tasks write hidden files, whose names have the number of the batch.  The commit, which Spark runs in a process without a
session, merges them and commits partitions.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyspark
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.sink.layout import Layout
from hudiformat.sink.options import Policy, parse_sink_options
from hudiformat.spark.errors import hide_frames
from hudiformat.spark.files.sink import Share
from hudiformat.spark.write.schema import arrow_schema

PARTITION_BY = "hudiformat.sink.partition.columns"
NAME = "hudiformat.sink.name"
EVENT_TIME = "hudiformat.sink.event.time"
LATENESS = "hudiformat.sink.lateness"

_OURS = (PARTITION_BY, NAME, EVENT_TIME, LATENESS)
_SPARKS_OWN = ("path", "checkpointlocation", "queryname", "outputmode")
_IN_DRIVER = (Policy.METASTORE, Policy.CUSTOM)


class HudiFilesSource(DataSource):
    """The data source ``hudiformat-files``: streams into plain Parquet or Avro files, with Flink's keys.

    Further options: ``hudiformat.sink.partition.columns`` (``"day, hour"``), ``hudiformat.sink.name``,
    ``hudiformat.sink.event.time`` with ``hudiformat.sink.lateness`` (milliseconds).  Policies that need a session or a
    Python object work only with ``hudiformat.spark.file_sink``.
    """

    @classmethod
    def name(cls) -> str:
        return "hudiformat-files"

    @hide_frames
    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001, N802 - Spark's
        if overwrite:
            raise UnsupportedFeatureError(
                "output mode: expected append, found complete; use outputMode('append')", feature="output mode complete"
            )
        try:
            from hudiformat.spark.files.stream import FilesWriter  # noqa: PLC0415 - PySpark 4.1
        except ImportError as error:
            raise UnsupportedFeatureError(
                f"expected PySpark 4.1 or later for hudiformat-files, found {pyspark.__version__}; "
                "use hudiformat.spark.file_sink in foreachBatch",
                feature=f"hudiformat-files on PySpark {pyspark.__version__}",
            ) from error
        share, rows = share_of(dict(self.options)), arrow_schema(schema)
        share.check(rows)
        return FilesWriter(share, rows)


def share_of(given: Mapping[str, str]) -> Share:
    """Parse the options of a query.

    Raises:
        OptionError: there is no path, or an option is unknown or has a bad value.
        UnsupportedFeatureError: a policy needs a session, or a Python object.
    """
    path, lateness = given.get("path"), given.get(LATENESS) or "0"
    if path is None:
        raise OptionError("path: expected the path of a folder, found none; name it with start(path)", option="path")
    if not lateness.isdecimal():
        raise OptionError(f"{LATENESS}: expected milliseconds, found {lateness!r}", option=LATENESS)
    columns = tuple(name.strip() for name in (given.get(PARTITION_BY) or "").split(",") if name.strip())
    own = {key: value for key, value in given.items() if key not in (*_OURS, *_SPARKS_OWN)}
    options = parse_sink_options(own)
    for policy in _IN_DRIVER:
        if policy in options.policies:
            raise UnsupportedFeatureError(
                "expected a policy that needs no session in the data source hudiformat-files, "
                f"found {policy.value}; use foreachBatch(hudiformat.spark.file_sink(path, "
                f"options=..., {policy.value}=...))",
                feature=f"policy {policy.value} of the data source hudiformat-files",
            )
    layout = Layout(given.get(NAME) or "default")
    share = Share(path, columns, options, layout, given.get(EVENT_TIME), int(lateness))
    share.coordinator()  # raises an OptionError if options contradict each other
    return share
