"""The checkpoint that Hudi Streamer finds in a table to which hudiformat has written since."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.tables import new_table, rows
from tests.write.commit.test_streamer_checkpoints import V1, V2, by_streamer

RESUME = """
conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(spark.sparkContext._jsc.hadoopConfiguration())
checkpoints = jvm.org.apache.hudi.common.table.checkpoint.CheckpointUtils
builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
client = builder.setConf(conf).setBasePath({path!r}).build()
timeline = client.getActiveTimeline().getCommitsTimeline().filterCompletedInstants()
found = checkpoints.getCheckpoint(timeline.readCommitMetadata(timeline.lastInstant().get()))
result = [found.getCheckpointKey(), found.getCheckpointResetKey(), found.getCheckpointIgnoreKey()]
"""
"""What Streamer does with the newest commit; its own StreamerCheckpointUtils is not in Spark's bundle."""


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("version", "checkpoint", "found"),
    [(9, V2, ["20240101000000000", "start", None]), (6, V1, ["topic,0:7", None, "once"])],
    ids=["v2", "v1"],
)
def test_streamer_finds_the_checkpoint_in_our_last_commit(
    hudi: RealHudi, tmp_path: Path, version: int, checkpoint: dict[str, str], found: list[str | None]
) -> None:
    table = new_table(tmp_path / "t", version=version)
    by_streamer(table, checkpoint)
    table.upsert(rows(("b", 1, "x", 1)))
    assert hudi.eval_(RESUME.format(path=str(tmp_path / "t"))) == found
