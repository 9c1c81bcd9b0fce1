"""Heartbeats: who is alive, and who has taken over whose instant."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hudiformat import LockError, StorageError
from hudiformat.storage.local import LocalStorage
from hudiformat.write.commit.heartbeats import Heartbeat, delete_heartbeat, is_of_ended_process, living_instants


def test_a_heartbeat_goes_on_until_it_is_stopped(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    heartbeat = Heartbeat(storage, "1", interval=0.01)
    heartbeat.start()
    file = tmp_path / ".hoodie" / ".heartbeat" / "1"
    os.utime(file, (0, 0))
    deadline = time.monotonic() + 10
    while file.stat().st_mtime == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert living_instants(storage, tolerance=60) == {"1"}
    heartbeat.stop()
    assert not file.exists()
    assert living_instants(storage, tolerance=60) == set()


def test_an_old_heartbeat_is_a_dead_writers(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for instant, age in (("1", 500), ("2", 10)):
        storage.create(f".hoodie/.heartbeat/{instant}", b"")
        os.utime(tmp_path / ".hoodie" / ".heartbeat" / instant, (time.time() - age,) * 2)
    assert living_instants(storage, tolerance=120) == {"2"}
    delete_heartbeat(storage, "1")
    assert living_instants(storage, tolerance=1000) == {"2"}


def file_of(root: Path) -> Path:
    return root / ".hoodie" / ".heartbeat" / "1"


def test_an_instant_that_another_has_taken_over_is_lost(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    first, second = (Heartbeat(storage, "1", interval=60, may_be_taken_over=True) for _ in range(2))
    first.start()
    first.confirm()
    second.start()
    with pytest.raises(LockError, match="1 is no longer this writer's.*another writer has taken it over"):
        first.confirm()
    first.stop()
    second.confirm()
    second.stop()
    assert not file_of(tmp_path).exists()
    assert first.number != second.number


def test_a_first_beat_that_fails_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").touch()
    heartbeat = Heartbeat(LocalStorage(tmp_path), "1", interval=60)
    with pytest.raises(StorageError, match="cannot create"):
        heartbeat.start()
    heartbeat.stop()


def test_a_process_of_this_machine_that_has_ended_is_known_to_be_dead(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with Heartbeat(storage, "1", interval=60) as heartbeat:
        heartbeat.start()
        assert not is_of_ended_process(storage, "1")
        owner = json.loads(file_of(tmp_path).read_bytes())
        left = json.dumps({**owner, "owner": "one that has stopped"})
        file_of(tmp_path).write_text(left)
        assert is_of_ended_process(storage, "1")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    for pid, host, dead in ((ended.pid, owner["host"], True), (1, owner["host"], False), (ended.pid, "other", False)):
        file_of(tmp_path).parent.mkdir(parents=True, exist_ok=True)
        file_of(tmp_path).write_text(json.dumps({**owner, "pid": pid, "host": host}))
        assert is_of_ended_process(storage, "1") is dead


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"host": 1, "pid": "x", "owner": ""}'])
def test_a_heartbeat_of_hudis_says_nothing_of_its_process(tmp_path: Path, content: str) -> None:
    file_of(tmp_path).parent.mkdir(parents=True)
    file_of(tmp_path).write_text(content)
    assert not is_of_ended_process(LocalStorage(tmp_path), "1")


def test_a_heartbeat_goes_on_where_it_is_sent_to(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    heartbeat = Heartbeat(storage, "1", interval=60)
    heartbeat.start()
    with heartbeat.keep_beating():  # where it was started it beats anyway
        heartbeat.hand_over()
    file = file_of(tmp_path)
    file.unlink()
    sent: Heartbeat = pickle.loads(pickle.dumps(heartbeat))
    with sent.keep_beating():
        sent.confirm()
        again: Heartbeat = pickle.loads(pickle.dumps(sent))
        with again.keep_beating():
            again.stop()
        assert not file.exists()
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat 1"]
