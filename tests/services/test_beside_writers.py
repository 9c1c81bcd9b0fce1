"""Maintenance in a process of its own beside processes that write; no row is lost or doubled."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.timeline.timeline import Action
from tests.effort import LONG, only_long
from tests.fire.processes import ROOT, SHAPES, SHARED, new_table

pytestmark = pytest.mark.unmeasured

COMMITS = 40 if LONG else 8
WRITERS = ["w0", "w1"]
NO_SERVICES = {
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
CLUSTERS = {
    "hoodie.clustering.async.enabled": "true",
    "hoodie.clustering.async.max.commits": "2",
    "hoodie.compact.inline.max.delta.commits": "2",
}


def maintaining(path: Path, kind: str) -> subprocess.Popen[str]:
    """``hudiformat maintain``, again and again."""
    options = {**SHAPES[kind].options, **({} if kind == "non-blocking" else CLUSTERS)}
    given = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    command = [sys.executable, "-m", "hudiformat", "maintain", "--json", "--every", "0.1s", *given, str(path)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def writing(path: Path, name: str, kind: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.fire.processes", "worker", str(path), name, "0", str(COMMITS), kind]
    return subprocess.Popen(command, cwd=ROOT)


@only_long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["optimistic", "optimistic-cow", "non-blocking"] if LONG else ["optimistic"])
def test_no_row_is_lost_or_doubled(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    new_table(path, SHAPES[kind])
    maintenance = maintaining(path, kind)
    try:
        writers = [writing(path, name, kind) for name in WRITERS]
        assert [one.wait(timeout=300) for one in writers] == [0, 0]
    finally:
        maintenance.send_signal(signal.SIGTERM)
        out, err = maintenance.communicate(timeout=60)
    assert maintenance.returncode in (0, 1), err  # 1: the last run lost against a writer
    done = [one for one in map(json.loads, out.splitlines()) if one.get("done")]
    assert done
    table = open_table(path, options={**SHAPES[kind].options, **NO_SERVICES})
    table.maintain()
    found = table.snapshot(columns=["id", "ts"])
    counts = Counter(found["id"].to_pylist())
    expected = {f"{name}-{step}" for name in WRITERS for step in range(COMMITS)}
    assert set(counts) == expected | {f"{name}-own" for name in WRITERS} | {SHARED}
    assert set(counts.values()) == {1}
    assert any(one.action in (Action.COMMIT, Action.REPLACE_COMMIT) for one in table.timeline.completed)
    assert table.verify() == []
