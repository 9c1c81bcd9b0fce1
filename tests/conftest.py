"""What tests share.

A test that takes ``spark``, ``hudi``, ``s3``, ``metastore`` or ``browser`` gets the marker of that name, and bare
pytest omits it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from zlib import crc32

import pytest
from hypothesis import settings
from pyarrow import fs
from xdist.scheduler import LoadFileScheduling

from hudiformat import Table
from tests.conformance.hudi import ROOT, NoHudiError, RealHudi
from tests.conformance.java import JavaClass
from tests.effort import BUSY, examples, is_in_part, some_sets
from tests.jvms import SHORT_LIVED, SMALL, STARTUP
from tests.measuring import unmeasured
from tests.scratch import use_memory
from tests.tables import Clock, GoldenTable, new_table, unpack
from tools.browser import Browser
from tools.chromium import NoChromiumError, installed_chromium
from tools.environments import EnvironmentBuildError
from tools.hive_metastore import HiveMetastore, NoMetastoreError, hive_metastore
from tools.jars import FLINK
from tools.java import java_home
from tools.maven import NoArtifactError
from tools.s3_server import NoS3ServerError, S3Server, s3_server
from tools.store_servers import (
    NoServerError,
    azure_server,
    gcs_server,
    hdfs_server,
    moto_server,
    zookeeper_server,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.register_assert_rewrite("tests.racing")

# Instants are in the local time of whoever writes: here everybody, real Hudi too, is in one place.
os.environ["TZ"] = "UTC"
time.tzset()


# The processes that tests start, Spark's too, need not compile the package each for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".pytest_cache" / "bytecode"))

# Files are synced as those of users are, which on a disk takes a tenth of the time of tests that write many.
SCRATCH = use_memory()

# No test asks the machine it runs on for credentials: where none answers, that takes seconds.
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

# What Spark's drivers run for in tests is too short for the second compiler, and for collectors that work in parallel.
os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)

# Tests take the numpy path unless they ask for kernels: else how much their process has done before would decide.
os.environ.setdefault("HUDIFORMAT_JIT", "0")

# On a busy machine a draw or a run may take long; that is no finding.
settings.register_profile("busy", deadline=None, max_examples=examples(100), suppress_health_check=BUSY)
settings.load_profile("busy")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for name in ("spark", "hudi", "s3", "metastore", "browser"):
            if name in getattr(item, "fixturenames", ()):
                item.add_marker(name)
        for name, places in JVMS.items():
            if name in getattr(item, "fixturenames", ()) and not item.nodeid.startswith((*places, *JVMS["hudi"])):
                raise pytest.UsageError(f"{item.nodeid} would start a JVM for its worker alone: add its file to JVMS")
    _draw_sets(config, items)
    _measure_some(items)
    items.sort(key=_turn)


def _draw_sets(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out sets of parameters of tests that nobody has named, as ``file::test``."""
    part = os.environ.get("HUDIFORMAT_PART")
    by_test = _by_test(items)
    if part:
        by_test = {test: by_test[test] for place, test in enumerate(sorted(by_test)) if is_in_part(place, part)}
    named = tuple(os.path.relpath(argument) for argument in config.args if "::" in argument)
    chosen = {
        item
        for test, alike in by_test.items()
        for item in (alike if test.startswith(named) else some_sets(test, alike))
    }
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _by_test(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    sets: dict[str, list[pytest.Item]] = {}
    for item in items:
        sets.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return sets


def _measure_some(items: list[pytest.Item]) -> None:
    """Measure coverage for a few sets of parameters of a test, which are drawn; the others take the same code.

    Nor is it measured with examples of Hypothesis, whose own code would take twice the time too, but for those of the
    strategies themselves, which nothing else runs.
    """
    for alike in _by_test(items).values():
        is_by_hypothesis = getattr(getattr(alike[0], "obj", None), "is_hypothesis_test", False)
        is_by_hypothesis = is_by_hypothesis and not alike[0].nodeid.startswith("tests/testing/")
        count = len(alike) if is_by_hypothesis else max(len(alike) - MEASURED, 0)
        for item in Random(len(alike)).sample(alike, count):
            item.add_marker("unmeasured")


MEASURED = 2
"""The number of sets of parameters of a test for which coverage is measured."""


def _turn(item: pytest.Item) -> int:
    """What takes long begins first, so that no worker of pytest-xdist is left alone with it at the end."""
    if _jvm_of(item.nodeid):
        return 0
    return 1 if any(item.get_closest_marker(name) for name in ("s3", "metastore", "servers", "browser", "slow")) else 2


JVMS = {
    "hudi": (
        "tests/conformance/",
        "tests/codec/hfile/test_conformance.py",
        "tests/metadata_table/test_listing.py",
        "tests/turns/",
        "tests/hudi_skipping/",
        "tests/sound_tables/",
    ),
    "spark": (
        "tests/spark/",
        "tests/conditions/test_translation.py",
        *(f"tests/benchmarks/test_{name}.py" for name in ("indexes", "pipeline", "spark_job")),
    ),
    "metastore": (),  # beside real Hudi, which speaks to it too
}
"""Where the tests are that take these fixtures: one worker has all of them, so that there is one JVM, which is warm."""
KERNELS = ("tests/codec/avro/compiled/", "tests/kernels/", "tests/file_group/base_file/test_bloom_kernel.py")
"""Where the tests are that compile kernels, for ten seconds: one worker has all of them, and compiles once."""
S3 = (
    "tests/storage/",
    "tests/fire/test_object_store.py",
    "tests/sink/test_coordinator.py",
    "tests/api/test_requests.py",
    "tests/testing/test_storage_suite.py",
    "tests/test_docs.py",
)
"""Where most tests are that need the S3 server, which takes twenty seconds of a core: one worker has all of them."""


def _jvm_of(nodeid: str) -> str | None:
    """Which JVM a test is on by its place, if any."""
    return next((name for name, places in JVMS.items() if nodeid.startswith(places)), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process more than there are cores where two of them wait for their JVMs most of the time."""
    return None if config.option.markexpr else (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """In a new checkout one process rewrites the assertions of all tests, and the others read what it has kept."""
    first = ROOT / ".pytest_cache" / "bytecode" / "first"
    if not hasattr(session.config, "workerinput") or first.exists():
        return (yield)
    with _one_before_others(first.with_name("lock")):
        found = yield
    first.touch()
    return found


@contextlib.contextmanager
def _one_before_others(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.path not in _begun:  # else each full garbage collection looks at all that is there, for half a second
        _begun.add(item.path)
        gc.collect()
        gc.freeze()
    if "PYTEST_XDIST_WORKER" in os.environ and not _niced and _jvm_of(item.nodeid) is None:
        _niced.append(os.nice(5))  # the workers with a JVM would be the last to finish
    is_measured = not any(item.get_closest_marker(name) for name in ("unmeasured", "hudi"))
    with nullcontext() if is_measured else unmeasured():
        return (yield)


_begun: set[Path] = set()
"""The files of tests that have begun in this process."""
_niced: list[int] = []
"""The niceness of this process, once it gives way to others."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus: int) -> None:
    if SCRATCH is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(SCRATCH, ignore_errors=True)


class _OneJvmEach(LoadFileScheduling):  # type: ignore[misc]  # its types are unknown
    """One worker has all tests with real Hudi, one all on Spark, one those of kernels, of S3; else a file at a time.

    Two machines of Java, each warm, take a third less than four.
    """

    def _split_scope(self, nodeid: str) -> str:
        groups = {"kernels": KERNELS, "s3": S3, **JVMS}
        found = (name for name, places in groups.items() if nodeid.startswith(places))
        return next(found, None) or str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _OneJvmEach:
    return _OneJvmEach(config, log)


@pytest.fixture(autouse=True)
def files_one_by_one(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let half of the tests take base files for large ones: merge and write them one by one, and read them by threads.

    The others encode new files of few rows together, and have markers as lines of a file, as writes of many files do.
    """
    with pytest.MonkeyPatch.context() as patch:  # ``monkeypatch`` would be undone after the test's other fixtures
        if crc32(request.node.nodeid.encode()) % 2:
            patch.setattr("hudiformat.write.handles.merge._SMALL_FILE", 0)
            patch.setattr("hudiformat.write.handles.base_files._SMALL_FILE", 0)
            patch.setattr("hudiformat.read.scan._WORTH_THREADS", 0)
        else:
            patch.setattr("hudiformat.write.handles.base_files._LEAST_FILES", 1)
            patch.setattr("hudiformat.write.commit.markers._MANY", 1)
        yield


@pytest.fixture(scope="session")
def java() -> Path:
    """The home of a Java that Spark runs on."""
    home = java_home()
    if home is None:
        missing_part("there is no Java 17 or 21: run tools/java.py")
    return home


@pytest.fixture(scope="session")
def spark(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of PySpark 4 with two cores."""
    sql = pytest.importorskip("pyspark.sql")
    from tests.conformance.java_names import keep_java_names

    keep_java_names()
    scratch = tmp_path_factory.mktemp("spark")
    os.environ.update(JAVA_HOME=str(java), PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    path = [str(STARTUP), str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    os.environ.pop("SPARK_HOME", None)
    builder = sql.SparkSession.builder.master("local[2]").appName("tests")
    for key, value in {
        "spark.driver.memory": "1g",
        # room for all code, which without C2 has 48 MB and is compiled again and again
        # and for the objects of some tests, of which a seventh of the time would go into collecting garbage
        "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=240m -Xms1g -Xmn600m",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.pyspark.udf.hideTraceback.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **SMALL,
    }.items():
        builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # nor is coverage measured in its Python workers
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def hudi(java: Path) -> Iterator[RealHudi]:
    """Real Hudi on PySpark 3.5; its environment is built on the first use."""
    try:
        server = RealHudi()
    except (EnvironmentBuildError, NoHudiError) as error:
        missing_part(f"no environment for real Hudi: {error}")
    with server:
        yield server


@pytest.fixture(scope="session")
def flink(hudi: RealHudi) -> JavaClass:
    """The classes of Flink's file sink, in the JVM of real Hudi; the jars are fetched on the first use."""
    try:
        jars = FLINK.fetch()
    except NoArtifactError as error:
        missing_part(f"no Flink: {error}")
    return JavaClass(hudi, "FlinkSink", ROOT / "tests" / "conformance" / "flink_sink.java", jars)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real server that speaks S3; it is built on the first use."""
    yield from started(s3_server(tmp_path_factory.mktemp("s3")))


@pytest.fixture(scope="session")
def metastore(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    """A real Hive Metastore; its jars are fetched on the first use."""
    yield from started(hive_metastore(tmp_path_factory.mktemp("metastore"), java))


T = TypeVar("T")


def started(server: AbstractContextManager[T], module: str | None = None) -> Iterator[T]:
    """What *server* yields, for a fixture; *module* is the client that its tests need."""
    try:
        if module is not None:
            pytest.importorskip(module)
        found = server.__enter__()
    except (NoServerError, NoS3ServerError, NoMetastoreError, pytest.skip.Exception) as error:
        missing_part(str(error))
    yield found
    server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def zookeeper(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The host and port of a real ZooKeeper; its jars are fetched on the first use."""
    yield from started(zookeeper_server(tmp_path_factory.mktemp("zookeeper"), java), "kazoo")


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The port of a server that speaks as Google Cloud Storage."""
    yield from started(gcs_server(tmp_path_factory.mktemp("gcs")), "gcsfs")


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The port of Azurite, which is fetched on the first use."""
    yield from started(azure_server(tmp_path_factory.mktemp("azure")), "azure.storage.blob")


@pytest.fixture(scope="session")
def hdfs(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The URI of a real HDFS; its jars are fetched on the first use."""
    yield from started(hdfs_server(tmp_path_factory.mktemp("hdfs"), java), "hdfs_native")


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The address of moto, which has DynamoDB and Glue."""
    yield from started(moto_server(tmp_path_factory.mktemp("moto")), "moto")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium without a window; where it is missing, it is installed on the first use."""
    try:
        program = installed_chromium()
    except NoChromiumError as error:
        missing_part(str(error))
    with Browser(program, tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def bucket(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a new bucket; the environment says where it is, and who one is there."""
    for key, value in s3.environ.items():
        monkeypatch.setenv(key, value)
    name = f"bucket-{uuid.uuid4()}"
    filesystem, _ = fs.FileSystem.from_uri(f"s3://{name}?allow_bucket_creation=true")
    filesystem.create_dir(name)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GoldenTable]:
    """A golden table by its name; not to be changed."""
    root = tmp_path_factory.mktemp("golden")
    return lambda name: unpack(name, root)


@pytest.fixture
def own_golden(golden: Callable[[str], GoldenTable], tmp_path: Path) -> Callable[[str], Path]:
    """The folder of a copy of a golden table, which the test may change."""
    return lambda name: Path(shutil.copytree(golden(name).table, tmp_path / name))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["SIMPLE", "BUCKET"])
def any_index(request: pytest.FixtureRequest) -> dict[str, str]:
    """Options for each way of finding a record's file group."""
    more = {"hoodie.bucket.index.num.buckets": "3"} if request.param == "BUCKET" else {}
    return {"hoodie.index.type": request.param, **more}


@pytest.fixture
def table(tmp_path: Path, clock: Clock) -> Table:
    """A new table of ``tests.tables.SCHEMA``; rooms whose tests need another have a fixture of their own."""
    return new_table(tmp_path / "table", clock=clock)


def missing_part(reason: str) -> NoReturn:
    """Skip, so that one can work without Java or the network; but CI must not pass by leaving tests out."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
