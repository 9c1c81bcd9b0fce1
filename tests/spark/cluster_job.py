"""Jobs on a cluster where things go wrong, in a process of its own: a cluster cannot be had beside another session.

Arguments: Spark's master, a folder for everything, an archive with the package, which the executors get by it alone,
a place on an object store, and the names of the jobs.  What a job with ``@store`` behind its name writes goes to that
place.
Leaves ``said.json`` in the folder: where each executor found the package, and for each job what went wrong in it.

In every job the first task that is done kills its executor, another fails, and another hangs until a speculative copy
has done its work.  All of that comes when the files of the task are there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64()), pa.field("p", pa.string())])
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
KINDS = {
    "mor": ("MERGE_ON_READ", BUCKETS),
    "cow": ("COPY_ON_WRITE", {"hoodie.index.type": "SIMPLE"}),
    "many": ("MERGE_ON_READ", {**BUCKETS, "hoodie.bucket.index.num.buckets": "32"}),
}
KILLED_AFTER = 20
"""Of a compaction's 64 file groups."""
ROWS = 600
TASKS = 4


def main() -> None:
    master, folder, archive, store, *names = sys.argv[1:]
    spark = start(master)
    spark.sparkContext.addPyFile(archive)
    found = set(spark.range(0, 4, 1, 4).mapInArrow(where_the_package_is, "path string").toArrow()["path"].to_pylist())
    jobs = {name: run(spark, Path(folder), store, name) for name in names}
    (Path(folder) / "said.json").write_text(json.dumps({"packages": sorted(found), "jobs": jobs}))
    spark.stop()


def start(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",  # small as they are, they would be one
        "spark.task.maxFailures": "4",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "500ms",
    }.items():
        builder = builder.config(key, value)
    for key in filter(lambda name: name.startswith("AWS_"), os.environ):
        builder = builder.config(f"spark.executorEnv.{key}", os.environ[key])
    spark: SparkSession = builder.getOrCreate()
    return spark


def where_the_package_is(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import hudiformat

    for _ in batches:
        yield pa.record_batch({"path": [hudiformat.__file__]})


def run(spark: SparkSession, folder: Path, store: str, name: str) -> list[str]:
    """Run a job; what went wrong in it."""
    marks = folder / f"{name}-marks"
    marks.mkdir()
    wait_for_executors(spark)
    kind, _, place = name.partition("@")
    JOBS[kind](spark, f"{store}/{kind}" if place else str(folder / kind), str(marks))
    return sorted(path.name for path in marks.iterdir())


def wait_for_executors(spark: SparkSession) -> None:
    """Wait until there is an executor on each host: one that was killed is started anew, late on a busy machine."""
    deadline = time.monotonic() + 60
    with_driver = 3
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < with_driver:
        if time.monotonic() > deadline:
            raise TimeoutError("expected an executor on each of two hosts")
        time.sleep(0.2)


def rows(spark: SparkSession, start: int, *, ts: int) -> DataFrame:
    """So many rows of two partitions, in as many tasks as there are after a shuffle."""
    numbers = spark.range(start, start + ROWS, 1, TASKS)
    return numbers.selectExpr("concat('k', id) as id", f"bigint({ts}) as ts", "concat('p', id % 2) as p")


def upserts(spark: SparkSession, path: str, marks: str, kind: str) -> None:
    """An insert, and an upsert of half of its rows and as many new ones."""
    import hudiformat.spark as hudi_spark

    options = create(path, kind)
    with struck("hudiformat.spark.write.by_tasks", "write_rows", partial(misfortune, marks, ("killed",))):
        hudi_spark.insert(rows(spark, 0, ts=1), path, options=options)
    # Not in one stage with the kill: what is missing of the shuffle then has the stage run again, and not its task.
    with struck("hudiformat.spark.write.by_tasks", "write_rows", partial(misfortune, marks, ("failed", "hung"))):
        hudi_spark.upsert(rows(spark, ROWS // 2, ts=2), path, options=options)


def bulk_inserts(spark: SparkSession, path: str, marks: str) -> None:
    """There is no shuffle."""
    import hudiformat.spark as hudi_spark

    options = create(path, "cow")
    with struck("hudiformat.spark.write.by_tasks", "write_rows", partial(misfortune, marks, EVERYTHING)):
        hudi_spark.bulk_insert(rows(spark, 0, ts=1), path, options=options)


def source(spark: SparkSession, path: str, marks: str) -> None:
    """The data source, whose tasks stage their rows; what goes wrong does so while they do."""
    import hudiformat.spark as hudi_spark

    hudi_spark.register(spark)
    options = create(path, "cow")
    df = rows(spark, 0, ts=1).mapInArrow(partial(passed, partial(misfortune, marks, EVERYTHING)), SPARK_SCHEMA)
    df.write.format("hudiformat").mode("append").option("operation", "upsert").options(**options).save(path)


def files(spark: SparkSession, path: str, marks: str) -> None:
    """The sink into plain files, which merges what the tasks have written."""
    from hudiformat.spark import file_sink

    sink = file_sink(path, partition_by=["p"], options={"auto-compaction": "true"})
    with struck("hudiformat.spark.files.sink", "_write_share", partial(misfortune, marks, EVERYTHING)):
        sink(rows(spark, 0, ts=1), 0)


def compaction(spark: SparkSession, path: str, marks: str) -> None:
    """A compaction of 64 file groups, in the middle of which an executor is killed; which process rewrote how many."""
    import hudiformat as hf
    import hudiformat.spark as hudi_spark

    options = create(path, "many")
    table = hf.open_table(path, options=KINDS["many"][1])
    for ts in (1, 2):
        ids = [f"{number * 2_654_435_761 % 2**32:x}" for number in range(ROWS)]  # whose hashes are of every bucket
        table.upsert(
            pa.table({"id": ids, "ts": [ts] * ROWS, "p": [f"p{n * 2 // ROWS}" for n in range(ROWS)]}, schema=SCHEMA)
        )
    with struck("hudiformat.spark.executor", "_call", partial(shared_work, marks)):
        hudi_spark.compact(spark, path, options=options)


def calls(spark: SparkSession, path: str, marks: str) -> None:
    """What the functions do, undisturbed; what each step left is said in a file beside the marks."""
    job = import_module("local_cluster_job")  # which needs the package
    said = {name: job.STEPS[name](spark, Path(path)) for name in job.OFTEN}
    Path(marks, "said.json").write_text(json.dumps(said))


def shared_work(marks: str) -> None:
    """Note whose work a file group was; after some, the executor is killed."""
    context = TaskContext.get()
    assert context is not None
    time.sleep(0.2)  # as long as a file group of a real table takes: else the first process does most
    mark(marks, f"done-{os.getpid()}-{context.partitionId()}")
    if len(list(Path(marks).glob("done-*"))) > KILLED_AFTER and mark(marks, "killed"):
        os.kill(parent_of(os.getppid()), signal.SIGKILL)
        time.sleep(60)


EVERYTHING = ("killed", "failed", "hung")
SPARK_SCHEMA = "id string, ts bigint, p string"
JOBS: dict[str, Callable[[SparkSession, str, str], None]] = {
    "mor": partial(upserts, kind="mor"),
    "cow": partial(upserts, kind="cow"),
    "bulk": bulk_inserts,
    "source": source,
    "files": files,
    "compaction": compaction,
    "calls": calls,
}


def create(path: str, kind: str) -> dict[str, str]:
    """A new table; the options that go with it."""
    import hudiformat as hf

    table_type, options = KINDS[kind]
    hf.create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=table_type,
        options=options,
    )
    return {**options, "hudiformat.spark.driver.rows": "0"}  # few rows as they are, they are for tasks


@contextmanager
def struck(module: str, name: str, strike: Callable[[], None]) -> Iterator[None]:
    """In a task of *module* something goes wrong when the task's files are there."""
    patched = import_module(module)
    whole = getattr(patched, name)
    setattr(patched, name, partial(made_and_struck, module, name, strike))
    yield
    setattr(patched, name, whole)


def made_and_struck(module: str, name: str, strike: Callable[[], None], *arguments: Any) -> Iterator[pa.RecordBatch]:
    made = list(getattr(import_module(module), name)(*arguments))  # the executor's is whole
    strike()
    yield from made


def passed(strike: Callable[[], None], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they are, but when all have been handed on something goes wrong."""
    yield from batches
    strike()


def misfortune(marks: str, kinds: Collection[str]) -> None:
    """The executor is killed, or the task fails, or hangs, each once in a job, and to different tasks.

    Where a task has failed before, it has been on one host, and a speculative copy of it would find no third one.
    """
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber():
        if is_there(marks, f"hung-{context.partitionId()}"):
            mark(marks, "copied")
    elif "killed" in kinds and mark(marks, "killed"):
        daemon = os.getppid()
        os.kill(parent_of(daemon), signal.SIGKILL)  # the JVM
        time.sleep(60)
    elif "failed" in kinds and mark(marks, "failed"):
        raise OSError("this attempt fails")
    elif "hung" in kinds and mark(marks, "hung"):
        mark(marks, f"hung-{context.partitionId()}")
        time.sleep(60)  # until the copy is done, and this is stopped


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def mark(folder: str, name: str) -> bool:
    """Leave a mark; whether this is the first."""
    try:
        Path(folder, name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def is_there(folder: str, name: str) -> bool:
    return Path(folder, name).exists()


if __name__ == "__main__":
    main()
