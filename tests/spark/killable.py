"""Processes with a Spark session of their own, which tests kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import hudiformat as hf
from tests.jvms import STARTUP

ROOT = Path(__file__).parents[2]
SMALL = (
    "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.driver.bindAddress=127.0.0.1 "
    "--conf spark.sql.shuffle.partitions=4 pyspark-shell"
)


@contextmanager
def running(java: Path, arguments: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Python with *arguments*, which is killed in the end, with all that it has started."""
    environment = {
        **os.environ,
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": SMALL,
        "PYTHONPATH": os.pathsep.join([str(STARTUP), str(ROOT)]),
    }
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, start_new_session=True, stdout=out, stderr=out, cwd=ROOT
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # Python and Java
        process.wait()


def leave_first_offset_unfinished(checkpoint: Path) -> None:
    """What Spark leaves in *checkpoint* when it is killed while it writes the offset of the first batch."""
    offsets = checkpoint / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.6e0b2b0c-8f5c-4a55-a4f1-0d2c5c1e7a39.tmp").write_text("v1\n")


def wait_for_a_commit(table: hf.Table, process: subprocess.Popen[bytes]) -> None:
    before = len(table.timeline.completed)
    wait_for(lambda: len(table.timeline.completed) > before, process)


def wait_for(is_there: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not is_there() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not process.poll(), "the process has failed"
