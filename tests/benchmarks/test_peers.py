"""What is said of other libraries has been run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import only_long

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from benchmarks.peers import __main__ as peers
from benchmarks.peers.features import FEATURES
from benchmarks.peers.ours import HudiFormat
from benchmarks.peers.running import run

pytestmark = pytest.mark.unmeasured


def test_the_page_has_every_feature_and_no_failure() -> None:
    text = peers.PAGE.read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [feature.title for feature in FEATURES]
    assert "**: " not in "".join(lines)


@pytest.mark.parametrize(
    ("path", "names"), [(peers.README, peers.SHORT), (peers.COMPARISON, [feature.name for feature in FEATURES])]
)
def test_the_short_tables_say_what_the_page_says(path: Path, names: tuple[str, ...]) -> None:
    table = path.read_text("utf-8").partition(f"{peers.MARK}\n")[2].partition(f"{peers.MARK_END}\n")[0]
    assert table == peers.short_table(peers.PAGE.read_text("utf-8"), names)


def test_all_that_another_has_and_we_do_not_is_in_the_readme() -> None:
    for feature in FEATURES:
        if not hasattr(HudiFormat, feature.name) and any(hasattr(peer, feature.name) for peer in peers.PEERS):
            assert feature.name in peers.SHORT


@only_long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_some_features_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.main(["travel", "delete"]) == 0
    assert "hudi-rs yes" in capsys.readouterr().out


def test_a_feature_that_gives_something_else_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    read = next(feature for feature in FEATURES if feature.name == "read")
    monkeypatch.setattr(HudiFormat, "prepare", lambda *_: None)
    monkeypatch.setattr(HudiFormat, "read", lambda *_: 3)
    assert "found 3" in run(HudiFormat, read).problem
    monkeypatch.setattr(HudiFormat, "read", lambda *_: 1 // 0)
    assert "ZeroDivisionError" in run(HudiFormat, read).problem
