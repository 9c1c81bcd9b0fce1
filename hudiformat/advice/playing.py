"""Play further commits on a table with other settings, beginning with the facts that were collected of it."""

from __future__ import annotations

from collections.abc import Mapping

from hudiformat.advice.facts import Facts
from hudiformat.simulation.from_table import start_from
from hudiformat.simulation.result import Simulation
from hudiformat.simulation.settings import Settings, Writing
from hudiformat.simulation.simulating import simulate_workload
from hudiformat.simulation.start import Start
from hudiformat.simulation.workload import Workload
from hudiformat.timeline.table_config import TableType

MOST_GROUPS = 4_000
"""Tables with more file groups are not played: a run takes half a second for so many, and a search a dozen runs."""
_SAMPLES = 50


class Player:
    """Plays the further commits of a table, with its own settings or others."""

    def __init__(self, facts: Facts, workload: Workload) -> None:
        self._facts, self.workload = facts, workload
        self._start: Start | None = None

    @property
    def _has_no_new_rows(self) -> bool:
        return self.workload.rows * (1 - self.workload.updates) < 1

    def settings(self, options: Mapping[str, str] | None = None, *, table_type: TableType | None = None) -> Settings:
        """Return the settings that are played if those of the table are changed by *options*.

        Raises:
            UnsupportedFeatureError: a setting is not simulated.
        """
        facts = self._facts
        operations = facts.history.operations
        bulk = sum(one == "BULK_INSERT" for one in operations)
        # Without inline compactions, somebody else runs them when they are due; else compaction-not-run is found.
        compacting = {"hoodie.compact.inline": "true"} if facts.is_mor else {}
        # A simulation expects that the file group which is to be filled next is rewritten by each commit.
        nothing_new = {"hoodie.parquet.small.file.limit": "0"} if self._has_no_new_rows else {}
        return Settings.of(
            {**compacting, **(options or {}), **nothing_new},
            table_type=(table_type or facts.state.config.table_type).value,
            writing=(Writing.BULK_INSERT if 2 * bulk > len(operations) else Writing.UPSERT).value,
            onto=facts.state.options,
        )

    def play(self, options: Mapping[str, str] | None = None, *, table_type: TableType | None = None) -> Simulation:
        """Return what comes of the further commits if the settings are changed by *options*.

        Raises:
            UnsupportedFeatureError: a setting is not simulated, or a state is reached that is not.
        """
        facts = self._facts
        if self._start is None:
            self._start = start_from(facts.state, self.workload, history=facts.history, slices=facts.slices)
        settings = self.settings(options, table_type=table_type)
        return simulate_workload(self.workload, settings, samples=_SAMPLES, start=self._start)
