"""The function that simulates a workload."""

from __future__ import annotations

from collections.abc import Mapping

from hudiformat.arguments import check_arguments
from hudiformat.progress import notebook_bar
from hudiformat.simulation.result import Prices, Simulation
from hudiformat.simulation.settings import Settings
from hudiformat.simulation.simulating import SAMPLES, simulate_workload
from hudiformat.simulation.workload import Workload


@check_arguments
def simulate(
    workload: Workload,
    *,
    options: Mapping[str, str] | None = None,
    engine: str = "hudiformat",
    table_type: str = "COPY_ON_WRITE",
    writing: str = "upsert",
    tasks: int = 1,
    seed: int = 0,
    samples: int = SAMPLES,
    prices: Prices | None = None,
) -> Simulation:
    """Play a workload on an empty table by the rules of a writer, without rows, and return what comes of it.

    *options* are Hudi's keys with Hudi's defaults, as for :func:`create_table`.  *engine* is whose writer is played:
    ``hudiformat``, ``spark`` or ``flink``; *tasks* are the tasks of Flink's writer or of a ``bulk_insert``, which
    *writing* may name in place of ``upsert``.  With ``files`` it is the streaming file sink, which writes no table:
    then *options* are Flink's keys, as for ``hudiformat.sink``, and a commit is a batch of its *tasks*.  The layout is
    looked at *samples* times.  The same arguments give the same result, by the *seed*.

    Raises:
        OptionError: a key or an argument has a bad value.
        UnsupportedFeatureError: a setting is not simulated; it is named.

    Source: docs/simulate.md.
    """
    settings = Settings.of(dict(options or {}), engine=engine, table_type=table_type, writing=writing, tasks=tasks)
    with notebook_bar("simulating", workload.commits) as progress:
        return simulate_workload(workload, settings, seed=seed, samples=samples, prices=prices, progress=progress)
