"""Random writes that complete in any order, against a model that is told which slice a log belongs to.

Hudi puts a log file into a slice by two times alone.  The model knows neither: it looks at the moments themselves, one
after the other, and asks at the end of each write which base file had been begun.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from hudiformat.naming import BaseFileName, LogFileName
from hudiformat.storage import FileInfo
from hudiformat.view import Visibility, build_slices, latest_slices
from tests.effort import examples

GROUPS = ("a", "b")


@dataclass
class Write:
    instant: str
    is_base: bool
    groups: frozenset[str]


@dataclass
class Group:
    bases_begun: list[str] = field(default_factory=list)
    base_files: set[str] = field(default_factory=set)
    logs: dict[str, str | None] = field(default_factory=dict)  # instant -> base that had been begun at its end


class Views(RuleBasedStateMachine):
    pending = Bundle("pending")

    @initialize()
    def start(self) -> None:
        self.time = 1000
        self.listing: list[FileInfo] = []
        self.completion: dict[str, str] = {}
        self.groups = {name: Group() for name in GROUPS}

    def tick(self) -> str:
        self.time += 1
        return str(self.time)

    @rule(target=pending, is_base=st.booleans(), groups=st.frozensets(st.sampled_from(GROUPS), min_size=1))
    def begin(self, is_base: bool, groups: frozenset[str]) -> Write:
        instant = self.tick()
        for name in groups:
            if is_base:
                self.groups[name].bases_begun.append(instant)
                file_name = str(BaseFileName(name, "0-0-0", instant))
            else:
                file_name = str(LogFileName(name, instant, 1, "0-0-0"))
            self.listing.insert(0, FileInfo(file_name, 1, is_dir=False))
        return Write(instant, is_base, groups)

    @rule(write=consumes(pending))
    def complete(self, write: Write) -> None:
        self.completion[write.instant] = self.tick()
        for name in write.groups:
            group = self.groups[name]
            if write.is_base:
                group.base_files.add(write.instant)
            else:
                group.logs[write.instant] = None

    @invariant()
    def slices_are_the_models(self) -> None:
        visible = Visibility(self.completion)
        slices = build_slices("", self.listing, visible)
        expected = [entry for name in GROUPS for entry in self.expected(name)]
        assert [
            (
                item.file_id,
                None if item.base_file is None else item.base_file.name.instant,
                [log.name.instant for log in item.log_files],
            )
            for item in slices
        ] == expected
        newest = {name: entry for name, *entry in expected}
        assert {item.file_id: [log.name.instant for log in item.log_files] for item in latest_slices(slices)} == {
            name: logs for name, (_, logs) in newest.items()
        }
        for instant in self.completion:  # nothing that began later is in an earlier view
            past = build_slices("", self.listing, visible, as_of=instant)
            assert all(item.base_instant <= instant for item in past)

    def expected(self, name: str) -> list[tuple[str, str | None, list[str]]]:
        group = self.groups[name]
        by_base: dict[str | None, list[str]] = {base: [] for base in sorted(group.base_files)}
        for instant in sorted(group.logs):
            at_its_end = [base for base in group.base_files if base < self.completion[instant]]
            by_base.setdefault(max(at_its_end, default=None), []).append(instant)
        without_base = by_base.pop(None, [])
        head: list[tuple[str, str | None, list[str]]] = [(name, None, without_base)] if without_base else []
        return head + [(name, base, logs) for base, logs in by_base.items()]


TestViews = Views.TestCase
TestViews.settings = settings(max_examples=examples(50), stateful_step_count=20, deadline=None)
