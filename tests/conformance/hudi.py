"""Real Apache Hudi for tests: :class:`RealHudi` starts it in its own environment and talks to it through a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.jvms import SMALL, TRUSTING
from tools.environments import HUDI, HudiEnvironment, hudi_environment
from tools.java import java_home

ROOT = Path(__file__).parents[2]
SERVER = Path(__file__).with_name("hudi_server.py")
DEFAULTS = ROOT / "tests" / "defaults"
"""What Hadoop finds before the defaults in its jars, as Spark's folder of settings is the first in the class path, and
what Hudi finds before its own."""
ROOMY = f"-XX:MetaspaceSize=512m -Xms1500m -Xmn1g -XX:ReservedCodeCacheSize=240m {TRUSTING}"
"""What keeps the JVM from collecting garbage for a seventh of its time: it starts with less, and grows step by step.

Nor does it sweep its code: without C2 it has room for 48 MB, which are full after some minutes of tests.
"""


class RealHudiError(Exception):
    """What Hudi, or Spark, had to say; ``trace`` is the trace of Python and Java."""

    def __init__(self, message: str, *, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class NoHudiError(Exception):
    """Real Hudi cannot be run here; the message says what is missing."""


class RealHudi:
    """A Spark 3.5 session with the Hudi bundle, in a process of its own.  A context manager.

    The first use on a machine builds the environment (see tools/environments.py); starting takes some ten seconds.
    """

    def __init__(self, version: str = HUDI) -> None:
        home = java_home()
        if home is None:
            raise NoHudiError("there is no Java 17 or 21: run tools/java.py")
        self._java_home = home
        self.environment: HudiEnvironment = hudi_environment(home, version)
        self._scratch = tempfile.TemporaryDirectory(prefix="hudi-")
        self._log = Path(self._scratch.name, "log")
        self._conf = shutil.copytree(self.environment.conf, Path(self._scratch.name, "conf"))
        shutil.copytree(DEFAULTS, self._conf, dirs_exist_ok=True)
        with Path(self._conf, "spark-defaults.conf").open("a") as file:
            file.writelines(f"{key} {value}\n" for key, value in SMALL.items())
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> RealHudi:
        """Start the session and return once it answers."""
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [self.environment.python, SERVER],
                cwd=self._scratch.name,
                env=self._environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._receive()
        return self

    def stop(self) -> None:
        """End the session; a second call does nothing."""
        if self._process:
            process, self._process = self._process, None
            _pipe(process.stdin).close()
            process.wait(timeout=60)
            _pipe(process.stdout).close()
        self._scratch.cleanup()

    def __enter__(self) -> RealHudi:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def write(
        self, data: pa.Table, path: str | Path, options: dict[str, Any], *, mode: str = "append", tasks: int = 1
    ) -> None:
        """Write *data* with Hudi's Spark writer; ``tasks`` is the number of Spark tasks that read it."""
        with self._file() as file:
            # Spark 3.5 takes no nanoseconds, and reads what says no time zone as a timestamp without one
            pq.write_table(data, file, coerce_timestamps="us", store_schema=False)
            texts = {key: _option(value) for key, value in options.items()}
            self._ask(op="write", parquet=file, path=str(path), mode=mode, tasks=tasks, options=texts)

    def read(self, path: str | Path, options: dict[str, Any] | None = None) -> pa.Table:
        """The rows that Hudi sees, its meta columns included, in no particular order."""
        texts = {key: _option(value) for key, value in (options or {}).items()}
        with self._file() as file:
            self._ask(op="read", path=str(path), options=texts, out=file)
            return _read(file)

    def sql(self, text: str) -> pa.Table:
        """The result of a statement of Spark SQL; an empty table without columns when it has none."""
        with self._file() as file:
            self._ask(op="sql", text=text, out=file)
            return _read(file) if Path(file).exists() else pa.table({})

    def eval_(self, code: str) -> Any:
        """Run Python code with ``spark`` and ``jvm`` in scope; what it leaves in ``result``, as JSON carries it."""
        return self._ask(op="eval", code=code).get("value")

    def run_script(self, script: str | Path, *arguments: str, timeout: float = 300) -> str:
        """Run a Python file in Hudi's environment, on PySpark 3.5, with hudiformat importable; what it printed.

        The JVM sometimes prints there too, so look at the last line.  A Spark session that the script starts has Hudi's
        bundle and extension.
        """
        run = subprocess.run(
            [self.environment.python, script, *arguments],
            cwd=self._scratch.name,
            env={**self._environ(), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if run.returncode:
            raise RealHudiError(f"{script} ended with {run.returncode}", trace=run.stdout + run.stderr)
        return run.stdout

    def _environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SPARK", "PYSPARK"))}
        python = str(self.environment.python)
        return {
            **kept,
            "JAVA_HOME": str(self._java_home),
            "SPARK_SUBMIT_OPTS": ROOMY,
            "SPARK_CONF_DIR": str(self._conf),
            "HUDI_CONF_DIR": str(self._conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
            "PYTHONPYCACHEPREFIX": str(ROOT / ".pytest_cache" / "bytecode"),  # hudiformat is compiled once
            "TZ": "UTC",
        }

    @contextlib.contextmanager
    def _file(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            yield f"{folder}/table.parquet"

    def _ask(self, **request: Any) -> dict[str, Any]:
        if self._process is None:
            raise NoHudiError("not started")
        requests = _pipe(self._process.stdin)
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout if self._process else None).readline()
        if not line:
            raise RealHudiError("Hudi's process has ended", trace=self._log.read_text())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RealHudiError(answer["error"], trace=answer["trace"])
        return answer


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise NoHudiError("not started")
    return pipe


def _read(file: str) -> pa.Table:
    # no memory map: the file goes away; no metadata: it is Spark's own
    return pq.read_table(file, partitioning=None, memory_map=False).replace_schema_metadata(None)


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
