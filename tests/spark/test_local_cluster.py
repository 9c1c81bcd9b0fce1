"""All functions, the data source and the streams on ``local-cluster[2,1,1024]``, with the package as an archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import LONG
from tests.spark.local_cluster_job import ROWS
from tests.spark.test_cluster import SPARK_HOME, packed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("unmeasured")]

SCRIPT = Path(__file__).with_name("local_cluster_job.py")
LEFT_OUT = () if LONG else ("create_index", "delete_partitions", "data source", "streams")
"""What a long run adds; the cluster of test_cluster.py has its own of these in any run."""
SUM = ROWS * (ROWS - 1) / 2


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
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(archive), *LEFT_OUT]
    with (tmp_path / "log").open("wb") as log:
        job = subprocess.run(command, env=environment, cwd=tmp_path, stdout=log, stderr=log, timeout=300, check=False)
    assert job.returncode == 0, (tmp_path / "log").read_text()[-4000:]
    said = json.loads((tmp_path / "said.json").read_text())
    assert all("hudiformat.zip" in one for one in said.pop("packages"))
    merged = SUM - (ROWS - 2) - (ROWS - 1) + ROWS + ROWS + 1
    gone = merged - 2 - 3
    expected = {
        "write": [ROWS, ROWS, SUM],
        "upsert": [ROWS, ROWS + 10, SUM],
        "merge": [ROWS + 2, ROWS + 10 + 2 * 2 + 2 * 3, merged],
        "update": [ROWS + 2, ROWS + 20, merged],
        "delete_where": [ROWS, ROWS + 16, gone],
        "create_index": [ROWS, ROWS + 16, gone],
        "delete": [ROWS - 1, ROWS + 14, gone - 5],
        "services": [1, 1, 0, ROWS - 1, ROWS + 14, gone - 5],
        "data source": [ROWS, ROWS + 10, SUM],
        "streams": [ROWS, ROWS, SUM, ROWS],
    }
    if "delete_partitions" in said:
        left = [number for number in range(0, ROWS + 2, 2) if number != 2]
        count, _, total = said.pop("delete_partitions")
        assert (count, total) == (len(left), sum(left) - (ROWS - 2))
    assert said == {name: state for name, state in expected.items() if name not in LEFT_OUT}
