"""The environment in which real Apache Hudi runs: PySpark 3.5 with Hudi's bundle, apart from the package's own.

    python3 tools/environments.py            # builds it, or finds it built, and prints its folder

It is built once into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``), under a hash of what goes into it.
After that nothing needs the network.  A virtual environment cannot be moved, so it is built in place; the file
``complete`` is written last and says that it can be used.  Only the standard library: this runs before anything is
installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HUDI = "1.2.0"
"""The version of Hudi that tests run, unless they ask for an older one."""
_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:"
REQUIREMENTS = (
    "pyspark==3.5.9",
    "pandas>=2.2,<3",
    "pyarrow>=19",
    "sqlglot>=26",
    "numpy>=1.26",
    "fastavro>=1.10",
    "javaproperties>=0.8",
    "pyroaring>=1.0",  # this and those before but the first: what hudiformat itself needs
    "setuptools<81",  # PySpark 3.5 imports distutils, which Python 3.12 took out
)
PYTHONS = ("python3.11", "python3.10", "python3.12")  # those that PySpark 3.5 is made for; 3.13 works, too

SPARK_DEFAULTS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    # tests are short: start fast, and keep Hudi from attaching a debugger to itself to measure objects (three seconds)
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djol.skipHotspotSAAttach=true "
    "-Djdk.lang.Process.launchMechanism=VFORK",  # Hadoop has chmod run for each file: so it takes half as long
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class EnvironmentBuildError(Exception):
    """The environment cannot be built; the message says at which step, and what that step printed last."""


@dataclass(frozen=True, slots=True)
class HudiEnvironment:
    """Where the environment is.  Whoever runs its ``python`` with ``conf`` as SPARK_CONF_DIR has Hudi.

    All versions of Hudi share the virtual environment in *shared*.
    """

    folder: Path
    shared: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.shared / "venv" / "bin" / "python"

    @property
    def conf(self) -> Path:
        """The folder with Spark's settings."""
        return self.folder / "conf"

    @property
    def complete(self) -> Path:
        """The file that is there once all else is."""
        return self.folder / "complete"


def cache_folder() -> Path:
    """Where environments are kept: HUDIFORMAT_CACHE, or a folder in the user's cache."""
    if cache := os.environ.get("HUDIFORMAT_CACHE"):
        return Path(cache).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudiformat"


def hudi_environment(java_home: Path, hudi: str = HUDI) -> HudiEnvironment:
    """The environment, built if it is not there yet: two or three minutes, 650 MB; an older *hudi* adds its jar.

    Raises:
        EnvironmentBuildError: a package cannot be fetched, or Spark does not start.
    """
    shared = cache_folder() / f"hudi-{_key(HUDI)}"
    environment = HudiEnvironment(shared if hudi == HUDI else cache_folder() / f"hudi-{_key(hudi)}", shared)
    if hudi != HUDI:
        hudi_environment(java_home)
    if not environment.complete.exists():
        with locked(environment.folder.with_suffix(".lock")):
            if not environment.complete.exists():
                _build(environment, java_home, hudi)
    return environment


def _spark_defaults(bundle: Path) -> str:
    # not spark.jars: on the class path, Hudi and Spark share one class loader, and nothing is copied at the start
    settings = {"spark.driver.extraClassPath": bundle, **SPARK_DEFAULTS}
    return "".join(f"{key} {value}\n" for key, value in settings.items())


def _key(hudi: str) -> str:
    inputs = [_BUNDLE + hudi, REQUIREMENTS, _spark_defaults(Path("bundle.jar")), LOG4J]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others, who lock the same *path*, out for as long as the block lasts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(environment: HudiEnvironment, java_home: Path, hudi: str) -> None:
    print(f"Building the environment of real Hudi in {environment.folder}", file=sys.stderr)
    shutil.rmtree(environment.folder, ignore_errors=True)  # what an interrupted build left
    environment.folder.mkdir(parents=True)
    if environment.folder == environment.shared:
        _run("make a virtual environment", [_base_python(), "-m", "venv", environment.folder / "venv"])
        # PySpark is built here: its jars, 300 MB, need not be compressed once more on the way
        options = ["--quiet", "--config-settings", "--build-option=--compression=stored"]
        _run("install PySpark 3.5", [environment.python, "-m", "pip", "install", *options, *REQUIREMENTS])
    bundle = _resolve_bundle(environment, java_home, _BUNDLE + hudi)
    shutil.rmtree(environment.folder / "ivy" / "cache")
    environment.conf.mkdir()
    (environment.conf / "spark-defaults.conf").write_text(_spark_defaults(bundle))
    (environment.conf / "log4j2.properties").write_text(LOG4J)
    environment.complete.touch()


def _base_python() -> str:
    accepts = "import sys, ensurepip; sys.exit(sys.version_info[:2] not in {(3, 10), (3, 11), (3, 12)})"
    for name in PYTHONS:
        python = shutil.which(name)
        if python and subprocess.run([python, "-c", accepts], capture_output=True, check=False).returncode == 0:
            return python
    return sys.executable


def _resolve_bundle(environment: HudiEnvironment, java_home: Path, bundle: str) -> Path:
    """Let Spark's own resolver fetch the bundle; the jar that it put into the environment."""
    ivy = environment.folder / "ivy"
    script = (
        "from pyspark.sql import SparkSession\n"
        "builder = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')\n"
        f"builder.config('spark.jars.ivy', {str(ivy)!r}).config('spark.jars.packages', {bundle!r}).getOrCreate()\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        _run("fetch the Hudi bundle", [environment.python, "-c", script], cwd=scratch, java_home=java_home)
    for jar in (ivy / "jars").glob("org.apache.hudi_*.jar"):
        return jar
    raise EnvironmentBuildError(f"fetch the Hudi bundle: Spark resolved {bundle} to no jar")


def _run(step: str, command: list[str | Path], *, cwd: str | None = None, java_home: Path | None = None) -> None:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SPARK", "PYSPARK"))}
    if java_home:
        environ["JAVA_HOME"] = str(java_home)
    print(f"  {step}", file=sys.stderr, flush=True)
    run = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if run.returncode:
        tail = "\n".join((run.stdout + run.stderr).strip().splitlines()[-15:])
        raise EnvironmentBuildError(f"{step} failed ({run.returncode}):\n{tail}")


def main() -> int:
    """Print the environment's folder, building it first if need be; 1 when that fails."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tools.java import java_home  # noqa: PLC0415 - the path has just been made

    home = java_home()
    if home is None:
        print("no Java 17 or 21: run tools/java.py", file=sys.stderr)
        return 1
    try:
        print(hudi_environment(home).folder)
    except EnvironmentBuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
