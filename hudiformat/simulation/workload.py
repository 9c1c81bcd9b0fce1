"""What comes to a table in a simulation: rows per commit, their bytes, partitions, updates.  Frozen values.

Everything is a number or a text, so that a workload can be read from a properties file and printed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from hudiformat.errors import ArgumentError

Numbers = npt.NDArray[np.int64]

_MOST_COMMITS = 20_000_000
_MOST_ROWS = 1 << 42
_MOST_PARTITIONS = 100_000
_ROW_STEP, _ROUNDING = 17 / 16, 1e-9
_DAY = 86_400
_HOURS = 24


class Spread(str, Enum):
    """How the new rows of a commit are spread over partitions."""

    EVEN = "even"
    """Every partition gets the same share."""
    ZIPF = "zipf"
    """The share of the i-th partition is proportional to ``1 / i ** skew``."""
    BY_DAY = "day"
    """Each day has a partition of its own; ``late`` of the rows are of the ``late_days`` days before."""


class UpdateSpread(str, Enum):
    """Which rows of the table the updates of a commit change."""

    UNIFORM = "uniform"
    """All rows are equally likely."""
    ZIPF = "zipf"
    """The i-th key is changed with a probability proportional to ``1 / i ** update_skew``; keys are anywhere."""
    NEWEST = "newest"
    """All rows of the partitions that get new rows are equally likely; others get no updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    """The partitions of a simulated table: ``count`` of them, or one for each day.

    ``even``: every partition gets the same share of the new rows.

    With a ``spread`` of ``zipf``, ``skew`` is the exponent.  With ``day``, ``late`` is the share of the rows that are
    of the ``late_days`` days before, in equal parts, and ``count`` is not used.

    Source: docs/simulate.md.
    """

    count: int = 1
    spread: str = Spread.EVEN.value
    skew: float = 1.0
    late: float = 0.0
    late_days: int = 1

    def __post_init__(self) -> None:
        _check_word("partitions.spread", Spread, self.spread)
        _check("count", self.count, 1, _MOST_PARTITIONS)
        _check("skew", self.skew, 0, 10)
        _check("late", self.late, 0, 1)
        _check("late_days", self.late_days, 1, 1000)

    def shares(self) -> npt.NDArray[np.float64]:
        """Return the share of the new rows of each partition; the sum is 1."""
        numbers = np.arange(1, self.count + 1, dtype=np.float64)
        weights = numbers**-self.skew if self.spread == Spread.ZIPF else np.ones(self.count)
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The commits that a simulation plays.

    - ``commits``, and ``interval``, the seconds from one to the next.
    - ``rows`` of a commit, of which the share ``updates`` changes rows that exist, the share ``deletes`` deletes such
      rows, and the others are new.
    - ``trace``: the rows of each commit in turn, from the beginning again when it ends; then ``rows`` is not used.
    - ``growth``: the rows of the last commit are ``1 + growth`` times those of the first.
    - ``curve``: 24 factors of the rows, one for each hour of the day.
    - ``burst_every``, ``burst``: each so many commits, a commit has ``burst`` times the rows.
    - ``row_bytes``: the bytes that a row takes in a base file, on average.
    - ``row_growth``: the new rows of the last commit take ``1 + row_growth`` times the bytes of those of the first, as
      columns are added; in steps of a sixteenth.
    - ``updated_row_bytes``: the bytes that a row takes in a base file once it was updated; by default ``row_bytes``.
      More, because its instant and its number are no longer those of the rows beside it.
    - ``log_row_bytes``: the bytes that it takes in a log file; by default three times as many.
    - ``file_bytes``: the bytes of a base file that are not rows: its footer and its bloom filter.
    - ``block_bytes``: the bytes of a log file that are not rows.

    Raises:
        ArgumentError: a value is out of range.

    Source: docs/simulate.md.
    """

    commits: int = 1000
    rows: int = 10_000
    interval: float = 60.0
    row_bytes: float = 100.0
    updated_row_bytes: float = 0.0
    log_row_bytes: float = 0.0
    file_bytes: int = 440_000
    block_bytes: int = 1_000
    row_growth: float = 0.0
    updates: float = 0.0
    update_spread: str = UpdateSpread.UNIFORM.value
    update_skew: float = 1.0
    deletes: float = 0.0
    partitions: Partitions = field(default_factory=Partitions)
    trace: tuple[int, ...] = ()
    growth: float = 0.0
    curve: tuple[float, ...] = ()
    burst_every: int = 0
    burst: float = 1.0

    def __post_init__(self) -> None:
        _check_word("update_spread", UpdateSpread, self.update_spread)
        _check("commits", self.commits, 1, _MOST_COMMITS)
        _check("rows", self.rows, 0, 10**10)
        _check("interval", self.interval, 0.001, 10**8)
        _check("row_bytes", self.row_bytes, 0.1, 10**9)
        _check("updated_row_bytes", self.updated_row_bytes, 0, 10**9)
        _check("log_row_bytes", self.log_row_bytes, 0, 10**9)
        _check("file_bytes", self.file_bytes, 0, 10**9)
        _check("block_bytes", self.block_bytes, 0, 10**9)
        _check("row_growth", self.row_growth, 0, 1000)
        _check("updates", self.updates, 0, 1)
        _check("update_skew", self.update_skew, 0, 10)
        _check("deletes", self.deletes, 0, 1 - self.updates + _ROUNDING)
        _check("growth", self.growth, -1, 10**6)
        _check("burst_every", self.burst_every, 0, 10**9)
        _check("burst", self.burst, 0, 10**6)
        for rows in self.trace:
            _check("trace", rows, 0, 10**10)
        if len(self.curve) not in (0, _HOURS):
            raise ArgumentError(
                f"curve: expected 24 factors, one for each hour of the day, found {len(self.curve)}", argument="curve"
            )
        for factor in self.curve:
            _check("curve", factor, 0, 10**6)

    @property
    def logged_row_bytes(self) -> float:
        """The bytes that a row takes in a log file."""
        return self.log_row_bytes or 3 * self.row_bytes

    @property
    def update_bytes(self) -> float:
        """The bytes that a row of a base file grows by when it is first updated; negative if it shrinks."""
        return self.updated_row_bytes - self.row_bytes if self.updated_row_bytes else 0.0

    @property
    def seconds(self) -> float:
        """The seconds from the first commit to the last."""
        return (self.commits - 1) * self.interval

    def days(self) -> Numbers:
        """Return the day of each commit, from 0."""
        found: Numbers = (np.arange(self.commits) * self.interval // _DAY).astype(np.int64)
        return found

    def rows_by_commit(self) -> Numbers:
        """Return the rows of each commit, new ones and updates.

        Raises:
            ArgumentError: they are more than can be counted.
        """
        numbers = np.arange(self.commits)
        trace = np.array(self.trace or (self.rows,), np.float64)
        rows = trace[numbers % len(trace)]
        if self.growth:
            rows *= 1 + self.growth * numbers / max(self.commits - 1, 1)
        if self.curve:
            rows *= np.array(self.curve)[(numbers * self.interval % _DAY * _HOURS // _DAY).astype(np.int64)]
        if self.burst_every:
            rows[self.burst_every - 1 :: self.burst_every] *= self.burst
        if rows.sum() > _MOST_ROWS:
            raise ArgumentError(
                f"rows: expected at most {_MOST_ROWS:,} in all commits, found about {rows.sum():.3g}; take fewer "
                "commits",
                argument="rows",
            )
        found: Numbers = np.floor(rows + 0.5).astype(np.int64)
        return found

    def updates_by_commit(self, rows: Numbers) -> Numbers:
        """Return how many of the *rows* of each commit change rows that exist; none before there are any."""
        return _share_of(rows, self.updates)

    def deletes_by_commit(self, rows: Numbers) -> Numbers:
        """Return how many of the *rows* of each commit delete rows that exist; none before there are any."""
        found: Numbers = np.minimum(_share_of(rows, self.deletes), rows - self.updates_by_commit(rows))
        return found

    def row_factors(self) -> npt.NDArray[np.float64]:
        """Return how many times the bytes of ``row_bytes`` a new row of each commit takes, in steps of a sixteenth."""
        growth = 1 + self.row_growth * np.arange(self.commits) / max(self.commits - 1, 1)
        found: npt.NDArray[np.float64] = _ROW_STEP ** np.floor(np.log(growth) / np.log(_ROW_STEP) + _ROUNDING)
        return found


def _share_of(rows: Numbers, share: float) -> Numbers:
    wanted = np.floor(np.cumsum(rows) * share).astype(np.int64)
    found: Numbers = np.diff(wanted, prepend=0)
    found[: int(np.argmax(rows > 0)) + 1] = 0
    return found


def workload_of(values: Mapping[str, str], onto: Workload | None = None) -> Workload:
    """Return the workload that texts describe, by the names of its fields and of those of its partitions.

    Parts that *values* do not name are those of *onto*, or the defaults.  Rows that are named replace its trace.

    Raises:
        ArgumentError: a name is unknown, or a value is none.
    """
    own = {one.name: one.type for one in fields(Workload)}
    inner = {f"partitions.{one.name}": one.type for one in fields(Partitions)}
    given: dict[str, object] = {}
    nested: dict[str, object] = {}
    for name, text in values.items():
        kind = own.get(name) if name != "partitions" else None
        kind = kind or inner.get(name)
        if kind is None:
            known = ", ".join(sorted({*own, *inner} - {"partitions"}))
            raise ArgumentError(f"{name}: no such part of a workload; there are {known}", argument=name)
        target, key = (nested, name.removeprefix("partitions.")) if name in inner else (given, name)
        target[key] = _parse(name, str(kind), text)
    onto = onto or Workload()
    if "rows" in given:
        given = {"trace": (), **given}
    partitions = replace(onto.partitions, **nested)  # type: ignore[arg-type]  # checked by their names
    return replace(onto, **given, partitions=partitions)  # type: ignore[arg-type]  # likewise


def _parse(name: str, kind: str, text: str) -> object:
    if kind == "str":
        return text
    try:
        if kind.startswith("tuple"):
            number = int if "int" in kind else float
            return tuple(number(part) for part in text.replace(";", ",").split(",") if part.strip())
        return int(text) if kind == "int" else float(text)
    except ValueError as error:
        raise ArgumentError(f"{name}: expected {_said(kind)}, found {text!r}", argument=name) from error


def _said(kind: str) -> str:
    return {"int": "a whole number", "float": "a number"}.get(kind, "numbers, separated by commas")


def _check_word(name: str, kind: type[Enum], value: str) -> None:
    known = [str(one.value) for one in kind]
    if value not in known:
        raise ArgumentError(f"{name}: expected {' or '.join(known)}, found {value!r}", argument=name)


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ArgumentError(f"{name}: expected {least:,} to {most:,}, found {value}", argument=name)
