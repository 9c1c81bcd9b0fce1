"""The files of rollbacks: what Hudi wrote, and what is written for it."""

from __future__ import annotations

import re
from pathlib import Path

from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.records import encode_record_file
from hudiformat.timeline.rollbacks import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartitionMetadata,
    RollbackPlan,
    RollbackRequest,
)
from hudiformat.timeline.timeline import Action, Instant, State


def test_a_rollback_of_hudis_says_what_it_deletes(golden_tables: dict[str, Path]) -> None:
    storage = LocalStorage(golden_tables["v9-mor-failed-write-h120"] / "table")
    plan = read_content(
        storage, load_table_config(storage), Instant("20261121055543330", Action.ROLLBACK, State.REQUESTED)
    )
    name = ".c1d90134-28e4-4d0c-bde4-f3755990782c-0_20261121055541856.log.1_0-1502-2654"
    log = f"/tmp/w/gold/v9-mor-failed-write-h120/table/{name}"
    assert plan == RollbackPlan(
        InstantInfo("20261121055541856", "deltacommit"),
        (RollbackRequest("", "c1d90134-28e4-4d0c-bde4-f3755990782c-0", "20261121055541856", (log,), {}),),
    )


def test_a_rollback_encodes_as_the_page_in_spec_says() -> None:
    metadata = RollbackMetadata(
        "2",
        5,
        1,
        ("1",),
        {"p": RollbackPartitionMetadata("p", ("f",))},
        instants_rollback=(InstantInfo("1", "commit"),),
    )
    data = encode_record_file(metadata)
    assert data.startswith(b"Obj\x01\x02\x16avro.schema")
    page = (Path(__file__).parents[2] / "spec" / "timeline.md").read_text("utf-8")
    example = page.split("The record's bytes:\n\n```\n", 1)[1].split("```", 1)[0]
    record = b"".join(bytes.fromhex(re.split(r"\s{2,}", line)[0]) for line in example.splitlines())
    assert data[:-16].endswith(b"\x02" + bytes([len(record) * 2]) + record)
