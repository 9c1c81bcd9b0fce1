"""Java's writer and reader: LogBench.java in a JVM of its own, with real Hudi's jars (see tools/environments.py)."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from benchmarks.timing import Speed, resident_mb
from tools.environments import EnvironmentBuildError, hudi_environment
from tools.java import java_home

SOURCE = Path(__file__).with_name("java") / "LogBench.java"
BUFFER = 16 * 1024 * 1024
"""HoodieLogFileReader.DEFAULT_BUFFER_SIZE."""

_WARM_RUNS = 2
_WARM_SECONDS = 2.0


class NoJavaPeerError(Exception):
    """Java cannot be asked; the message says why."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How Java is run: flags of the JVM, whether .crc files lie beside the files, how files are read."""

    name: str
    flags: tuple[str, ...]
    checksums: bool
    buffer: int
    stream: int


DEFAULT = Setting("Java, G1", ("-XX:+UseG1GC",), checksums=True, buffer=BUFFER, stream=0)
"""As its users run it: whole blocks are read."""

BEST = Setting("Java, best flags", ("-XX:+UseSerialGC",), checksums=False, buffer=1 << 16, stream=1 << 16)
"""The best found: one thread for the garbage, no .crc files, records streamed through a small buffer."""


class Jvm:
    """A JVM that runs LogBench.  A context manager.

    Raises:
        NoJavaPeerError: there is no Java, no Hudi, or it says an error.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        command = [*_command(setting), str(setting.checksums).lower()]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, *words: object) -> tuple[float, int]:
        """The seconds and the count that LogBench answers to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            answer, _, rest = line.strip().partition(" ")
            if answer == "ok":
                seconds, count = rest.split()
                return float(seconds), int(count)
            if answer == "error":
                raise NoJavaPeerError(f"{words[0]}: {rest}")
        self._errors.seek(0)
        raise NoJavaPeerError(f"the JVM has ended: {self._errors.read()[-2000:]}")

    def speed(self, *words: object) -> Speed:
        """The speed of a command, warmed up until the compiler has had its time."""
        start = time.monotonic()
        runs = 0
        while runs < _WARM_RUNS or time.monotonic() - start < _WARM_SECONDS:
            self.ask(*words)
            runs += 1

        def once() -> float:
            seconds, count = self.ask(*words)
            return count / seconds

        return once

    def peak_mb(self) -> float | None:
        """The most memory that the JVM has had, in MB, all of it counted; None where /proc does not say."""
        try:
            return resident_mb("VmHWM", self._process.pid)
        except OSError:
            return None

    def __enter__(self) -> Jvm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(timeout=60)
        self._errors.close()


def _command(setting: Setting) -> list[str]:
    home = java_home()
    if home is None:
        raise NoJavaPeerError("there is no Java 17 or 21: run tools/java.py")
    try:
        environment = hudi_environment(home)
    except EnvironmentBuildError as error:
        raise NoJavaPeerError(str(error)) from None
    bundles = [str(path) for path in (environment.folder / "ivy" / "jars").glob("org.apache.hudi_*.jar")]
    spark = [str(path / "*") for path in (environment.folder / "venv" / "lib").glob("*/site-packages/pyspark/jars")]
    path = ":".join([str(environment.conf), *bundles, *spark])
    run = ["org.codehaus.janino.SimpleCompiler", str(SOURCE), "LogBench"]
    return [str(home / "bin" / "java"), "-Xmx4g", *setting.flags, "-cp", path, *run]
