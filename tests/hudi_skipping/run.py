"""Compare what real Hudi finds by its data skipping with what is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.conformance.hudi import RealHudi
from tests.hudi_skipping.conditions import conditions
from tests.hudi_skipping.tables import Kind, write_table

_SKIPS = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
_READS_ALL = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
_CODE = """
from functools import reduce
def load(settings):
    return spark.read.format('hudi').options(**settings).load({path!r})
def keys(frame, conditions):
    # one job for all conditions; each has its own look into the indexes
    parts = [frame.where(one).selectExpr(f'{{number}} as number', 'k') for number, one in enumerate(conditions)]
    found = [[] for _ in conditions]
    for row in reduce(type(frame).unionAll, parts).collect():
        found[row.number].append(row.k)
    return [sorted(one) for one in found]
# All rows, in the memory of the driver: Spark filters them there without statistics, and without a job.
whole = load({reads_all!r})
spark.conf.set('spark.sql.datetime.java8API.enabled', 'true')  # dates of all years
local = spark._jsparkSession.createDataFrame(whole._jdf.collectAsList(), whole._jdf.schema())
spark.conf.unset('spark.sql.datetime.java8API.enabled')
conditions = {conditions!r}
right, found = keys(type(whole)(local, spark), conditions), keys(load({skips!r}), conditions)
differ = [number for number, rows in enumerate(right) if rows != found[number]]
plain = keys(whole, [conditions[number] for number in differ]) if differ else []
result = [[conditions[number], right[number], found[number], rows] for number, rows in zip(differ, plain)]
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """A condition by which Hudi, skipping files, finds other rows than there are; ``plain`` are those without."""

    kind: Kind
    seed: int
    condition: str
    right: tuple[str, ...]
    found: tuple[str, ...]
    plain: tuple[str, ...]

    @property
    def is_of_statistics(self) -> bool:
        """Whether the metadata table is the reason: Hudi finds more rows without it."""
        return self.found != self.plain


def losses(
    hudi: RealHudi, folder: Path, kind: Kind, seed: int, *, count: int, without: Sequence[str] = ()
) -> Iterator[Loss]:
    """Write the table of *kind* and *seed* in *folder*, but for the columns *without*, and try *count* conditions."""
    chance = Random(seed)
    written = write_table(folder / f"t{seed}", kind, chance, without=without)
    tried = conditions(written.columns, written.keys, written.stored, chance, count)
    for condition, right, found, plain in compare(hudi, written.table.path, tried):
        yield Loss(kind, seed, condition, right, found, plain)


Answer = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def compare(hudi: RealHudi, path: str, conditions: Sequence[str]) -> list[Answer]:
    """Return the conditions for which Hudi finds other keys than there are, each with three answers, as in Loss."""
    code = _CODE.format(path=path, reads_all=_READS_ALL, skips=_SKIPS, conditions=list(conditions))
    return [(one, tuple(right), tuple(found), tuple(plain)) for one, right, found, plain in hudi.eval_(code)]
