"""The benchmark of remote storages, in small."""

from __future__ import annotations

import pytest

from benchmarks import remote

pytestmark = pytest.mark.unmeasured


def test_each_operation_has_its_seconds_and_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert remote.main(["--partitions", "2", "--ms", "0"]) == 0
    printed = capsys.readouterr().out
    for kind in remote.KINDS:
        assert printed.count(kind) == len(remote.operations(2, kind))
