"""All functions, the data source and the streams on ``local-cluster[2,1,1024]``, with the package as an archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import only_long
from tests.spark.local_cluster_job import LEFT, ROWS
from tests.spark.test_cluster import SPARK_HOME, packed

pytestmark = [pytest.mark.spark, pytest.mark.unmeasured]

SCRIPT = Path(__file__).with_name("local_cluster_job.py")


@only_long  # the cluster of test_cluster.py takes most of the steps in any run
def test_every_call_works_where_executors_have_the_package_as_an_archive(java: Path, tmp_path: Path) -> None:
    archive = packed(tmp_path)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(archive),
    }
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(archive)]
    with (tmp_path / "log").open("wb") as log:
        job = subprocess.run(command, env=environment, cwd=tmp_path, stdout=log, stderr=log, timeout=300, check=False)
    assert job.returncode == 0, (tmp_path / "log").read_text()[-4000:]
    said = json.loads((tmp_path / "said.json").read_text())
    assert all("hudiformat.zip" in one for one in said.pop("packages"))
    left = [number for number in range(0, ROWS + 2, 2) if number != 2]
    count, _, total = said.pop("delete_partitions")
    assert (count, total) == (len(left), sum(left) - (ROWS - 2))
    assert said == LEFT
