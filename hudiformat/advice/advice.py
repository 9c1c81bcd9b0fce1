"""An advice: what was found, what to change, and what comes of it in numbers.  Frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from hudiformat.notebook import Rows, show
from hudiformat.numbers import count_text, size_text


class Severity(str, Enum):
    """How much an advice matters.

    Source: docs/advise.md.
    """

    HIGH = "high"
    """Writes are held up, or queries or writes cost several times what they could."""
    MEDIUM = "medium"
    """Queries, writes or storage cost at least twice what they could."""
    LOW = "low"
    """A service is due, or a number is going to grow."""

    @property
    def rank(self) -> int:
        """The place in the order from the gravest, from 0."""
        return list(Severity).index(self)


MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "file_groups": "file groups",
        "files_read": "files that a query reads",
        "log_files": "log files",
        "median_file_bytes": "median base file",
        "largest_file_bytes": "largest base file",
        "largest_group_bytes": "largest file group",
        "stored_bytes": "bytes on storage",
        "active_commits": "commits on the active timeline",
        "files_written": "files that a commit of new rows writes",
        "written_bytes": "bytes written by commits and services",
        "pending_writes": "writes that did not complete",
    }
)
"""What effects are measured in: the names, and what they mean."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A number that changes: its name in ``MEASURES``, and its values without and with the change.

    The values hold after ``commits`` further commits like those on the timeline; with 0, as soon as the command has
    run.  A name that ends in ``_bytes`` counts bytes.

    Source: docs/advise.md.
    """

    measure: str
    before: int
    after: int
    commits: int = 0

    @property
    def factor(self) -> float:
        """How many times the smaller value the larger one is."""
        return max(self.before, self.after, 1) / max(min(self.before, self.after), 1)

    def __str__(self) -> str:
        text = size_text if self.measure.endswith("_bytes") else count_text
        when = f" after {count_text(self.commits)} more commits" if self.commits else ""
        return f"{MEASURES[self.measure]} {text(self.before)} -> {text(self.after)}{when}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A change to a table or to the settings of its writers, and its effect.

    - ``finding`` names what was found, such as ``unfilled-small-files``; ``found`` says it in numbers, ``reason`` why.
    - ``properties`` are Hudi's keys that all writers are to set from now on.
    - ``command`` is for a shell; it runs what has to be done once.  It writes a new table if ``into`` names one.
    - ``effects`` are the numbers that change, the most important first.
    - ``cost_bytes`` are the bytes that the command writes.

    Source: docs/advise.md.
    """

    severity: Severity
    finding: str
    verb: str
    found: str
    reason: str
    effects: tuple[Effect, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    command: str = ""
    into: str = ""
    cost_bytes: int = 0

    @property
    def headline(self) -> str:
        """What to do and what was found, in one line."""
        return f"{self.verb}: {self.found}"

    @property
    def order(self) -> tuple[int, float]:
        """The place in the order of advice: the gravest first, of equal ones that with the largest effect."""
        return self.severity.rank, -max((one.factor for one in self.effects), default=0.0)

    def as_json(self) -> dict[str, object]:
        """Return the advice as JSON values."""
        effects = [
            {"measure": one.measure, "before": one.before, "after": one.after, "commits": one.commits}
            for one in self.effects
        ]
        return {
            "severity": self.severity.value,
            "finding": self.finding,
            "headline": self.headline,
            "verb": self.verb,
            "found": self.found,
            "reason": self.reason,
            "properties": dict(self.properties),
            "command": self.command,
            "into": self.into,
            "effects": effects,
            "cost_bytes": self.cost_bytes,
        }


class AdviceList(list[Advice]):
    """The advice on a table, the most important first; ``not_examined`` says what was not looked at.

    Source: docs/advise.md.
    """

    def __init__(self, advice: Iterable[Advice] = (), *, not_examined: Iterable[str] = ()) -> None:
        super().__init__(advice)
        self.not_examined = tuple(not_examined)

    def _repr_html_(self) -> str:
        rows = [(one.severity.value, one.headline, one.reason, one.command) for one in self]
        facts = {"advice": len(self) or NOTHING_TO_DO.lower(), "not examined": "; ".join(self.not_examined)}
        return show("Advice", facts, Rows(("severity", "what to do", "why", "command"), rows))

    @property
    def headline(self) -> str:
        """The headline of the first advice, or that there is none."""
        return self[0].headline if self else NOTHING_TO_DO


NOTHING_TO_DO = "Nothing to do"
