"""File slices of every golden table at every commit: what real Hudi's own file-system view returns."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from hudiformat import FileSlice, LogFileName, open_table
from tests.conformance.hudi import RealHudi
from tests.effort import every
from tests.tables import NAMES, GoldenTable, unpack

ASK = """
import json

Model = jvm.org.apache.hudi
storage_conf = Model.hadoop.fs.HadoopFSUtils.getStorageConf(spark.sparkContext._jsc.hadoopConfiguration())
engine = Model.common.engine.HoodieLocalEngineContext(storage_conf)
mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()

def told(slices):
    # one answer of the JVM for all slices, as each question takes a millisecond
    found = jvm.java.util.ArrayList()
    for file_slice in slices.collect(jvm.java.util.stream.Collectors.toList()):
        found.add(Model.common.table.timeline.dto.FileSliceDTO.fromFileSlice(file_slice))
    return json.loads(mapper.writeValueAsString(found))

def slices(path):  # from the last commit backwards
    builder = Model.common.table.HoodieTableMetaClient.builder().setConf(storage_conf.newInstance())
    client = builder.setBasePath(path).setLoadActiveTimelineOnLoad(True).build()
    timeline = client.getCommitsAndCompactionTimeline().filterCompletedAndCompactionInstants()
    view = Model.common.table.view.HoodieTableFileSystemView.fileListingBasedFileSystemView(engine, client, timeline)
    partitions = list(Model.common.fs.FSUtils.getAllPartitionPaths(engine, client, False))
    found = {}
    for instant in list(client.getCommitsTimeline().filterCompletedInstants().getInstants())[::-EVERY]:
        time = instant.requestedTime()
        found[time] = [
            file_slice
            for partition in partitions
            for file_slice in told(view.getLatestMergedFileSlicesBeforeOrOn(partition, time))
        ]
    return found
"""


def told(file_slice: FileSlice) -> list[Any]:
    return [
        file_slice.partition_path,
        file_slice.file_id,
        file_slice.base_instant,
        str(file_slice.base_file.name) if file_slice.base_file else None,
        [str(log.name) for log in file_slice.log_files],
    ]


def of_hudi(answer: dict[str, Any], instant: str) -> list[Any]:
    """A slice as Hudi tells it, without what its readers then pass over: change-data logs, and what came later."""
    base = answer["baseFile"]
    newest_first = (LogFileName.parse(log["path"].rpartition("/")[2]) for log in answer["logFiles"])
    logs = [str(log) for log in newest_first if not log.is_cdc and log.instant <= instant]
    return [
        answer["partition"],
        answer["fileId"],
        answer["baseInstant"],
        base and base["fullPath"].rpartition("/")[2],
        logs[::-1],
    ]


def with_times(case: GoldenTable) -> GoldenTable:
    """Give the files of version 6 their times back: Hudi 1.x takes them for completion times."""
    for name, milliseconds in case.manifest.get("modified_ms", {}).items():
        os.utime(case.table / ".hoodie" / name, (milliseconds / 1000, milliseconds / 1000))
    return case


@pytest.mark.hudi
def test_every_slice_at_every_commit(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("slices")
    cases = {name: with_times(unpack(name, root)) for name in NAMES}
    paths = {name: str(case.table) for name, case in cases.items()}
    hudi.eval_(ASK.replace("EVERY", str(every(6))))
    theirs = hudi.eval_(f"result = {{name: slices(path) for name, path in {json.dumps(paths)}.items()}}")
    for name, path in paths.items():
        table = open_table(path, options={"hoodie.metadata.enable": "false"})
        assert theirs[name], name
        for instant, expected in theirs[name].items():
            found = [told(file_slice) for file_slice in table.file_slices(as_of=instant)]
            assert sorted(found) == sorted(of_hudi(answer, instant) for answer in expected), (name, instant)
