"""A sample of the hostile files; ``python -m tests.hostile --count 50000`` makes as many as one likes."""

from __future__ import annotations

import ast
import json
import mmap
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.effort import LONG, only_long
from tests.hostile import jobs, running
from tests.hostile.corpus import Source
from tests.hostile.jobs import Result
from tests.hostile.mutants import mutant
from tests.hostile.running import findings, run, table

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).parents[2]
COUNT = 20_000 if LONG else 60


@pytest.mark.slow
def test_hostile_files_give_errors_of_the_library_in_bounded_time_and_memory_and_touch_nothing_else() -> None:
    results = run(COUNT, seed=20, workers=1, small=not LONG)
    assert findings(results) == []
    assert len(results) == COUNT


def test_a_file_follows_from_its_number(tmp_path: Path) -> None:
    source = Source(tmp_path, "f", "properties", b"hoodie.table.name=t\nhoodie.table.version=9\n")

    def make() -> list[bytes]:
        return [mutant(source, Random(number), b"other") for number in range(50)]

    made = make()
    assert made == make()
    assert len(set(made)) > 20


GUARDED = """
from tests.hostile.jobs import Guard
(root / "table").mkdir()
guard = Guard(root, [root / "table"])
with guard:
    (root / "table" / "inside").write_bytes(b"")
    (root / "outside").write_bytes(b"")
    list(root.iterdir())
    (root / "table" / ".." / "outside").unlink()
(root / "afterwards").write_bytes(b"")
found = guard.seen
"""
BAD = """
from tests.hostile import jobs
from tests.hostile.corpus import MADE, build
build(root, golden=(), made=MADE[4:5])

def bad(_source, _data, scratch, attempt):
    (scratch.parent / "canary" / "hoodie.properties").unlink()
    attempt(lambda: {}["key"])
    bytearray(300_000_000)

jobs.parse, jobs.SECONDS = bad, 0.0
result = jobs.Jobs(root, root / "scratch", 0, 0.0).run(0)
found = result.foreign, result.violations
"""


def found_by(code: str, root: Path) -> Any:
    """What *code* calls ``found``, in a process of its own: the hook of a guard stays as long as its process."""
    program = f"import json\nfrom pathlib import Path\nroot = Path({str(root)!r})\n{code}\nprint(json.dumps(found))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_the_guard_notes_what_is_opened_beside_the_table(tmp_path: Path) -> None:
    assert found_by(GUARDED, tmp_path) == [
        f"open {tmp_path / 'outside'}",
        f"os.listdir {tmp_path}",
        f"os.remove {tmp_path / 'outside'}",
    ]


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("test_*.py")), ids=lambda path: path.name)
def test_no_test_has_a_guard_in_its_own_process(path: Path) -> None:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    assert not {ast.unparse(one).rpartition(".")[2] for one in calls} & {"Guard", "Jobs"}


@only_long
@pytest.mark.slow
def test_a_changed_canary_a_foreign_error_and_a_slow_file_are_findings(tmp_path: Path) -> None:
    foreign, violations = found_by(BAD, tmp_path)
    assert [what.partition(" in ")[0] for what in foreign] == ["KeyError"]
    assert [what.split()[0] for what in violations] == ["took", "took", "outside", "scratch/canary"]


def test_a_process_that_dies_is_a_finding_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, os, sys\n"
        "first, step, end = map(int, sys.argv[-4:-1])\n"
        "for number in range(first, end, step):\n"
        "    print(json.dumps(number), flush=True)\n"
        f"    number == 2 and os.kill(os.getpid(), {int(signal.SIGSEGV)})\n"
        "    print(json.dumps({'number': number, 'kind': 'k'}), flush=True)\n"
    )
    monkeypatch.setattr(running, "WORKER", [str(script)])
    results = list(running._worker(tmp_path, tmp_path, 0, range(5), 0.0))
    assert [(one.number, one.kind) for one in results] == [(0, "k"), (1, "k"), (2, "?"), (3, "k"), (4, "k")]
    assert findings(results)[0].startswith("1 x ?: the process died (-11)")


def test_the_table_counts_by_kind() -> None:
    results = [
        Result(0, "a", 10, 0.5, 2_000_000, ["DecodeError", "DecodeError"]),
        Result(1, "a", 10, 0.1, 0, ["DecodeError", "KeyError"], ["KeyError in f:1: ''"]),
        Result(2, "b", violations=["took 6.0 s"]),
    ]
    assert table(results).splitlines()[2:] == [
        "| a | 2 | DecodeError 2, KeyError 1 | 1 | 0 | 0.50 | 2 |",
        "| b | 1 |  | 0 | 1 | 0.00 | 0 |",
        "| all | 3 | DecodeError 2, KeyError 1 | 1 | 1 | 0.50 | 2 |",
    ]
    assert findings(results) == ["1 x a: KeyError in f:1: '' (first: 1)", "1 x b: took 6.0 s (first: 2)"]


def test_memory_is_measured() -> None:
    jobs._forget_peak()
    before = jobs._memory("VmRSS")
    with mmap.mmap(-1, 50_000_000) as held:  # memory of its own: bytes() may lie in what the process had freed
        for place in range(0, len(held), mmap.PAGESIZE):
            held[place] = 1
        assert jobs._memory("VmHWM") - before > 40_000_000
