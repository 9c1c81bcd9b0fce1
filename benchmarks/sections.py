"""The sections of a run, by name: each measures one thing, and adds what it found to the results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from itertools import chain, repeat
from pathlib import Path
from statistics import median

import hudiformat as hf
from benchmarks import clustering, commits, indexes, large, ours, python_peers, spark_tables, upserts, workers
from benchmarks.cases import DATA_CASES, DELETES, MIXED, SMALL, TEN, Case
from benchmarks.instructions import NoCounterError, per_row
from benchmarks.java import BEST, Jvm, Setting
from benchmarks.results import Comparison, Growth, Limit
from benchmarks.slice_sections import slices
from benchmarks.spark_job import CLUSTER, LAYOUTS
from benchmarks.spark_job import SMALL as SMALL_UPSERTS
from benchmarks.spark_tables import HUDI_ON_SPARK
from benchmarks.suite import MOST_GROWTH, TARGETS, Run, Work, with_kernels
from benchmarks.timing import Speed, interleaved, timed
from tests.conformance.hudi import NoHudiError

MOST_MB = 300.0
MOST_FOR_ONE_COLUMN = 30.0  # on average
MOST_FOR_THE_DEAREST = 45.0
LEAST_FOR_TWO_WORKERS = 1.6
TWO_GB = 10**7
"""So many of the mixed rows are a log file of 2 GB."""

MILLION = 10**6
FEWEST_UPSERTS = 10**5
ROUNDS_OF_UPSERTS = 2  # each makes a table first
LEAST_OF_UPSERTS = {kind: 1e6 if kind == upserts.LOGS else 0.5e6 for kind in upserts.KINDS}
"""Rows a second, of a million into a million."""
MOST_MB_OF_UPSERTS = {upserts.LOGS: 500.0}

LEAST_OF_INDEXES = 3
"""How many times as fast as Hudi small upserts into a large table are."""
MOST_COST = 25.0
LEAST_OF_CLUSTERING = 3
MOST_MEMORY_OF_CLUSTERING = 0.5
"""Of the memory that Hudi takes."""
ROUNDS_OF_COST = 24
FEWEST_COMMITS = 2
MOST_AGING = 0.05
"""Milliseconds by which a commit may take longer than the one before it, once a table is full."""
SPARK_MEASURES = ("insert", "upsert", "read", "read, not told what")

_ALL = 1 << 30
WITH_KERNELS = ("decode", "decode, views", "encode", "write")
"""What is also measured with compiled kernels."""
WITH_VIEWS = ("mixed", "strings")
"""Whose texts are decoded to views, too."""
_SLOW_BLOCKS = 20
"""As many small blocks are enough for Java with its buffer of 16 MB, which it fills anew for each."""

_DISTINCT_BLOCKS = 1_000
"""Small blocks that are encoded; a file repeats them."""


def data_case(case: Case, run: Run) -> None:
    """Decode, encode and write the rows of *case*, against every peer that can."""
    rows = ours.prepare(case, run.count(case))
    path = ours.written(rows.blocks, run.folder / "ours")
    if not ours.same_rows(rows, path):
        raise AssertionError(f"the rows of {case.name} come back changed")
    python = {"fastavro": python_peers.fastavro_speeds(rows)} if case.format == "avro" else {}
    python["Parquet (pyarrow)"] = python_peers.parquet_speeds(rows, run.folder)
    again = run.folder / "again"
    views = [Work(case.name, "decode, views", partial(ours.decode, path, views=True), rows.count)]
    works = (
        Work(case.name, "decode", partial(ours.decode, path), rows.count),  # first: rows in a JVM count as its memory
        *(views if case.name in WITH_VIEWS else []),
        Work(case.name, "encode", partial(ours.encode, rows.blocks), rows.count),
        Work(
            case.name, "write", partial(ours.write, rows.blocks, again), rows.count, before=partial(ours.empty, again)
        ),
    )
    with ExitStack() as stack:
        jvms = run.jvms(stack)
        for work in works:
            if work.measure == "encode":
                jvms = _loaded(jvms, path)
            peers = run.java(jvms, partial(_command, run, case, work.measure, path))
            peers |= {name: speeds[work.measure] for name, speeds in python.items() if work.measure in speeds}
            run.compare(work, peers, jvms, kernels=case.format == "avro" and work.measure in WITH_KERNELS)


def _loaded(jvms: list[Jvm], path: Path) -> list[Jvm]:
    for vm in jvms:
        vm.ask("load", path)
    return jvms


def _command(run: Run, case: Case, measure: str, path: Path, setting: Setting) -> tuple[object, ...]:
    if measure.startswith("decode"):
        stream = setting.stream if case.format == "avro" else 0  # Parquet blocks know no streaming
        return ("decode", path, setting.buffer, stream, _ALL)
    return ("encode", _ALL) if measure == "encode" else ("write", _java_folder(run, setting))


def _java_folder(run: Run, setting: Setting) -> Path:
    folder = run.folder / setting.name
    ours.empty(folder)
    return folder


def small_blocks(run: Run) -> None:
    """Many blocks of about 1 KB: scanned, decoded and appended; and rows encoded in such blocks."""
    rows = ours.prepare(SMALL, min(run.count(SMALL), _DISTINCT_BLOCKS * SMALL.block_rows))
    distinct = list(rows.blocks())
    repeats = -(-run.count(SMALL) // rows.count)
    blocks = len(distinct) * repeats
    few = ours.written(rows.blocks, run.folder / "few")
    path = ours.written(lambda: _repeated(distinct, repeats), run.folder / "many")
    with ExitStack() as stack:
        jvms = run.jvms(stack)
        scan = Work("small", "scan", partial(ours.scan, path), blocks, "blocks/s")
        run.compare(scan, run.java(jvms, lambda _: ("scan", path)), jvms)

        decode = Work("small", "decode", partial(ours.decode_together, path), blocks, "blocks/s")
        run.compare(decode, _as_blocks(run.java(jvms, partial(_small_decode, path))), jvms)

        again = run.folder / "again"
        action = partial(ours.write, lambda: _repeated(distinct, repeats), again)
        for vm in jvms:
            vm.ask("keep", path)
        append = Work("small", "append", action, blocks, "blocks/s", before=partial(ours.empty, again))
        run.compare(append, run.java(jvms, lambda setting: ("append", _java_folder(run, setting))), jvms)

        java = _as_blocks(run.java(_loaded(jvms, few), lambda _: ("encode", _ALL)))
        encode = Work("small", "encode", partial(ours.encode, rows.blocks), len(distinct), "blocks/s")
        run.compare(encode, java, jvms, kernels=True)
        cuts = Work("small", "encode, cuts", partial(ours.encode, rows.cuts()), len(distinct), "blocks/s")
        run.compare(cuts, java, jvms, kernels=True)


def _repeated(blocks: list[hf.LogBlock], repeats: int) -> chain[hf.LogBlock]:
    return chain.from_iterable(repeat(blocks, repeats))


def _small_decode(path: Path, setting: Setting) -> tuple[object, ...]:
    limit = _DISTINCT_BLOCKS * 10 if setting.name == BEST.name else _SLOW_BLOCKS
    return ("decode", path, setting.buffer, setting.stream, limit)


def _as_blocks(rows: dict[str, Speed]) -> dict[str, Speed]:
    def once(speed: Speed) -> float:
        return speed() / SMALL.block_rows

    return {name: partial(once, speed) for name, speed in rows.items()}


def deletes(run: Run) -> None:
    """A delete block of a million keys, encoded and decoded."""
    rows = ours.prepare(DELETES, run.count(DELETES))
    blocks = partial(ours.delete_blocks, rows)
    path = ours.written(blocks, run.folder / "ours")
    with ExitStack() as stack:
        jvms = run.jvms(stack)
        decode = Work("deletes", "decode", partial(ours.decode, path), rows.count, "keys/s")
        run.compare(decode, run.java(jvms, lambda setting: ("decode", path, setting.buffer, 0, _ALL)), jvms)
        encode = Work("deletes", "encode", partial(ours.encode, blocks), rows.count, "keys/s")
        run.compare(encode, run.java(_loaded(jvms, path), lambda _: ("encode", _ALL)), jvms)


def one_column(run: Run) -> None:
    """What reading each of ten columns costs, of what reading all of them does."""
    rows = ours.prepare(TEN, run.count(TEN))
    path = ours.written(rows.blocks, run.folder / "ours")
    names = rows.parts[0].schema.names
    for label, by in (("", partial), (", jit", partial(partial, with_kernels))):
        all_columns = {"": timed(by(ours.decode, path), rows.count)}
        contenders = {name: timed(by(ours.decode, path, [name]), rows.count) for name in names}
        best = interleaved({**all_columns, **contenders}, run.rounds)
        costs = {name: 100 * best[""] / best[name] for name in names}
        worst = max(costs, key=costs.__getitem__)
        mean, most = sum(costs.values()) / len(costs), costs[worst]
        run.results.limits += [
            Limit("columns", f"reading one of ten columns, on average{label}", mean, "% of all", MOST_FOR_ONE_COLUMN),
            Limit("columns", f"the dearest of them ({worst}){label}", most, "% of all", MOST_FOR_THE_DEAREST),
        ]


def two_workers(run: Run) -> None:
    """Two processes against one, on a whole file."""
    found, pool = workers.speeds(run.count(MIXED), run.folder)
    with pool:
        for name, speeds in found.items():
            best = interleaved(speeds, run.rounds)
            gain = best["two"] / best["one"]
            run.results.limits.append(
                Limit("workers", f"{name}, two workers", gain, "x of one", LEAST_FOR_TWO_WORKERS, at_least=True)
            )


def growth(run: Run) -> None:
    """The cost per row and the memory as files grow; instructions per row."""
    found = large.growth(run.sizes, run.folder)
    run.results.growth += found
    costs = {(item.operation, item.rows): item for item in found}
    for operation in ("write", "read"):
        last = costs[operation, run.sizes[-1]]
        limit = MOST_MB if last.rows == TWO_GB else None
        run.results.limits.append(Limit("growth", f"{operation}, memory", last.peak_mb, "MB", limit))
        if last.rows == TWO_GB and (operation, 10**5) in costs:
            more = 100 * (last.nanoseconds / costs[operation, 10**5].nanoseconds - 1)
            label = f"{operation}, cost per row at 10^7 rows over that at 10^5"
            run.results.limits.append(Limit("growth", label, more, "%", MOST_GROWTH))
        try:
            run.results.limits.append(
                Limit("growth", f"{operation}, instructions", per_row(operation, run.folder), "per row")
            )
        except NoCounterError as error:
            run.results.missing["Instruction counts"] = str(error)


def upsert(run: Run) -> None:
    """Upserts of all rows of tables of more and more rows: speed, memory, and what a row costs."""
    sizes = [size for size in run.sizes if size >= FEWEST_UPSERTS] or run.sizes[-1:]
    for kind, least in LEAST_OF_UPSERTS.items():
        costs = {}
        for count in sizes:
            writer = upserts.Measured(kind, run.folder, count)
            rounds = min(run.rounds, ROUNDS_OF_UPSERTS) if count <= MILLION else 1  # which takes its minutes
            speed = interleaved({"": writer}, rounds)[""]
            costs[count] = 1e9 / speed
            run.results.growth.append(Growth(f"upsert, {kind}", count, costs[count], writer.peak_mb))
            if count in (MILLION, sizes[-1]):
                goal, most = (least, MOST_MB_OF_UPSERTS.get(kind)) if count == MILLION else (None, None)
                label = f"{kind}, {count:,} rows"
                run.results.limits += [
                    Limit("upsert", label, speed, "rows/s", goal, at_least=True),
                    Limit("upsert", f"{label}, memory", writer.peak_mb, "MB", most),
                ]
        if len(sizes) > 1:
            more = 100 * (costs[sizes[-1]] / costs[sizes[0]] - 1)
            label = f"{kind}, cost per row at {sizes[-1]:,} over that at {sizes[0]:,}"
            run.results.limits.append(Limit("upsert", label, more, "%", MOST_GROWTH))


def spark(run: Run) -> None:
    """A table written and read by Spark with two cores, by hudiformat's layer and by Hudi's; Parquet is the limit."""
    if not run.settings:
        return
    if find_spec("pyspark") is None:
        run.results.missing["hudiformat on Spark"] = "there is no PySpark"
        return
    count = max(int(MILLION * run.scale), 100)
    folder = run.folder / "spark"
    folder.mkdir()
    spark_tables.prepare(folder, count)
    try:
        theirs = spark_tables.by_hudi(folder, run.rounds)
    except NoHudiError as error:
        run.results.missing["Hudi on Spark"] = str(error)
        return
    mine = spark_tables.by_hudiformat(folder, run.rounds)
    for measure in SPARK_MEASURES:
        ours_took, hudi_took = mine[measure], theirs[measure]
        memory = {"peak_mb": ours_took["peak_mb"], "peer_peak_mb": hudi_took["peak_mb"]}
        for label, unit, took in ((measure, "rows/s", "seconds"), (f"{measure}, work", "rows/core s", "cpu_seconds")):
            speeds = (count / ours_took[took], count / hudi_took[took])
            target = TARGETS.get(("spark", label, HUDI_ON_SPARK))
            run.results.comparisons.append(Comparison("spark", label, HUDI_ON_SPARK, unit, *speeds, target, **memory))
        most = Limit("spark", f"{measure}, memory", ours_took["peak_mb"], "MB", hudi_took["peak_mb"])
        run.results.limits.append(most)
    speeds = (count / mine["insert"]["seconds"], count / mine["parquet"]["seconds"])
    run.results.comparisons.append(Comparison("spark", "insert", "Parquet (Spark)", "rows/s", *speeds))


def index_upserts(run: Run) -> None:
    """Small upserts into a large table, what keeping indexes up costs, and a point query: see the module indexes."""
    folder = run.folder / "indexes"
    folder.mkdir()
    _cost_of_indexes(run, folder)
    opened, seconds = indexes.point_query(folder)
    run.results.limits += [
        Limit("indexes", f"files opened by a query by key, of {indexes.POINT_FILES}", opened, "files", 1),
        Limit("indexes", "its time", 1000 * seconds, "ms"),
    ]
    count = max(int(10 * MILLION * run.scale), 2 * indexes.UPSERTED)
    indexes.prepare(folder, count, run.rounds)
    mine = {"one process": {name: indexes.apart("upserts", folder, name, run.rounds) for name in indexes.INDEXES}}
    if run.settings and find_spec("pyspark") is not None:
        mine["Spark"] = spark_tables.by_hudiformat(folder, run.rounds, f"{SMALL_UPSERTS}hudiformat")
    theirs = _by_hudi_or_nothing(run, folder, f"{SMALL_UPSERTS}hudi")
    for place, found in mine.items():
        for name, took in found.items():
            label = f"{indexes.UPSERTED:,} into {count:,}, {name}, {place}"
            if theirs is None:
                run.results.limits.append(Limit("indexes", label, took["seconds"], "s"))
                continue
            memory = {"peak_mb": took["peak_mb"], "peer_peak_mb": theirs[name]["peak_mb"]}
            for words, unit, of, least in (
                (label, "rows/s", "seconds", LEAST_OF_INDEXES),
                (f"{label}, work", "rows/core s", "cpu_seconds", None),
            ):
                speeds = (indexes.UPSERTED / took[of], indexes.UPSERTED / theirs[name][of])
                run.results.comparisons.append(
                    Comparison("indexes", words, HUDI_ON_SPARK, unit, *speeds, least, **memory)
                )


def _cost_of_indexes(run: Run, folder: Path) -> None:
    rows = max(int(MILLION * run.scale), 2 * indexes.UPSERTED)
    for label, more in indexes.apart("cost", folder, rows, ROUNDS_OF_COST).items():
        run.results.limits.append(Limit("indexes", f"{label}, more with Hudi's default indexes", more, "%", MOST_COST))


def _by_hudi_or_nothing(run: Run, folder: Path, engine: str) -> spark_tables.Found | None:
    try:
        return spark_tables.by_hudi(folder, run.rounds, engine) if run.settings else None
    except NoHudiError as error:
        run.results.missing["Hudi on Spark"] = str(error)
        return None


def cluster(run: Run) -> None:
    """Clustering of 200 small files, against Hudi: see the module clustering."""
    folder = run.folder / "clustering"
    folder.mkdir()
    count = int(MILLION * run.scale) // clustering.FILES * clustering.FILES
    clustering.prepare(folder, count)
    mine = {layout: clustering.apart(folder, layout, run.rounds) for layout in LAYOUTS}
    theirs = _by_hudi_or_nothing(run, folder, CLUSTER)
    for layout, took in mine.items():
        label = f"{count:,} rows in {clustering.FILES} files, {layout}"
        if theirs is None:
            run.results.limits.append(Limit("clustering", label, took["seconds"], "s"))
            continue
        memory = {"peak_mb": took["peak_mb"], "peer_peak_mb": theirs[layout]["peak_mb"]}
        speeds = (count / took["seconds"], count / theirs[layout]["seconds"])
        run.results.comparisons.append(
            Comparison("clustering", label, HUDI_ON_SPARK, "rows/s", *speeds, LEAST_OF_CLUSTERING, **memory)
        )
        most = MOST_MEMORY_OF_CLUSTERING * theirs[layout]["peak_mb"]
        run.results.limits.append(Limit("clustering", f"{layout}, memory", took["peak_mb"], "MB", most))


def commit(run: Run) -> None:
    """Commits of a table that gets older, against deltalake's: see the module commits."""
    writers = [commits.OURS]
    if find_spec("deltalake") is None:
        run.results.missing["deltalake"] = "it is not installed"
    else:
        writers += [commits.MERGE, commits.APPEND]
    for name, workload in commits.WORKLOADS.items():
        count = max(int(workload.commits * run.scale), FEWEST_COMMITS)
        found = {writer: commits.apart(writer, name, run.folder / "commits", count) for writer in writers}
        run.results.series |= {f"{name}, {writer}": one["ms"] for writer, one in found.items()}
        middle = {writer: median(one["ms"]) for writer, one in found.items()}
        memory = {writer: one["peak_mb"][0] for writer, one in found.items()}
        label = f"{name}, {count} commits"
        run.results.limits += [
            Limit("commits", f"{label}, the median", middle[commits.OURS], "ms", workload.most_ms),
            Limit("commits", f"{label}, longer with each", commits.growth(found[commits.OURS]["ms"]), "ms", MOST_AGING),
        ]
        for peer in writers[1:]:
            speeds = (1000 / middle[commits.OURS], 1000 / middle[peer])
            of = {"peak_mb": memory[commits.OURS], "peer_peak_mb": memory[peer]}
            run.results.comparisons.append(Comparison("commits", label, peer, "commits/s", *speeds, **of))


SECTIONS: dict[str, Callable[[Run], None]] = {
    **{case.name: partial(data_case, case) for case in DATA_CASES},
    "small": small_blocks,
    "deletes": deletes,
    "columns": one_column,
    "workers": two_workers,
    "growth": growth,
    "slice": slices,
    "upsert": upsert,
    "spark": spark,
    "indexes": index_upserts,
    "clustering": cluster,
    "commits": commit,
}
