"""What a run found out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our speed and a peer's, in *unit* a second; memory in MB.  The target is a ratio that ours has to reach."""

    case: str
    measure: str
    peer: str
    unit: str
    ours: float
    theirs: float
    target: float | None = None
    peak_mb: float | None = None
    peer_peak_mb: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        return None if self.target is None else self.ratio >= self.target


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure of ours that may not pass a bound, or has to reach one."""

    case: str
    measure: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is kept; None without one."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass(frozen=True, slots=True)
class Growth:
    """What a row costs, in nanoseconds, when there are that many; ``peak_mb`` above interpreter and libraries."""

    operation: str
    rows: int
    nanoseconds: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Sized:
    """A work on *size* things of one unit: times in seconds, memory in MB above interpreter and libraries.

    ``bytes`` are those of the metadata that the work makes, where it makes some.
    """

    case: str
    work: str
    size: int
    unit: str
    seconds: float
    cpu_seconds: float
    peak_mb: float
    requests: int | None
    open_files: int
    bytes: int | None = None


@dataclass(slots=True)
class Results:
    """All of a run; ``missing`` are the peers that could not be asked, and why.

    ``series`` are the milliseconds of one commit after the other, by what was written and who wrote it.
    """

    conditions: dict[str, str]
    comparisons: list[Comparison] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    sizes: list[Sized] = field(default_factory=list)
    series: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The results as JSON carries them, with ratios and verdicts."""
        return {
            **asdict(self),
            "comparisons": [{**asdict(item), "ratio": item.ratio, "met": item.met} for item in self.comparisons],
            "limits": [{**asdict(item), "met": item.met} for item in self.limits],
        }
