"""Hudi 1.2.0 on Spark with two cores, which reads a whole table and throws the rows away."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.hudi import NoHudiError, RealHudi

NAME = "Hudi 1.2.0 on Spark, two cores"

_READ = """
import time
start = time.perf_counter()
spark.read.format("hudi").load({path!r}).write.format("noop").mode("overwrite").save()
result = time.perf_counter() - start
"""
_PROCESS = "result = jvm.java.lang.ProcessHandle.current().pid()"


class SparkReader:
    """Reads one table again and again; a context manager.

    Raises:
        NoHudiError: there is no Hudi here.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self._hudi = RealHudi()
        self._path = str(path)
        self._rows = rows

    def __enter__(self) -> SparkReader:
        self._hudi.start()
        for _ in range(3):
            self()  # warm
        return self

    def __exit__(self, *_: object) -> None:
        self._hudi.stop()

    def __call__(self) -> float:
        """Rows a second."""
        return self._rows / float(self._hudi.eval_(_READ.format(path=self._path)))

    def peak_mb(self) -> float:
        """The memory that the JVM has taken at its peak, in MB."""
        status = Path(f"/proc/{self._hudi.eval_(_PROCESS)}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000


__all__ = ["NAME", "NoHudiError", "SparkReader"]
