"""The threads of a task make partitions, several at a time."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from hudiformat.write.partition import PartitionWriter
from hudiformat.write.task_threads import TaskThreads


class Entered:
    """Stands for a partition, and waits for *together* in the call that enters it."""

    def __init__(self, together: threading.Barrier | None = None) -> None:
        self._together = together
        self.by: int | None = None

    def enter(self) -> None:
        if self._together is not None:
            self._together.wait(30)
        self.by = threading.get_ident()


def test_partitions_of_a_remote_storage_are_made_at_the_same_time() -> None:
    together = threading.Barrier(4)
    made = [Entered(together) for _ in range(4)]
    task = TaskThreads(threads=4, is_far=True)
    task.enter(cast("list[PartitionWriter]", made))
    task.threads.submit(lambda: None).result()
    task.stop()
    assert len({one.by for one in made} - {None}) == 4


@pytest.mark.parametrize("threads", [1, 2])
def test_those_of_a_local_storage_are_made_some_by_a_call(threads: int) -> None:
    made = [Entered() for _ in range(40)]
    task = TaskThreads(threads=threads)
    task.enter(cast("list[PartitionWriter]", made))
    for waited in [task.threads.submit(threading.get_ident) for _ in range(4)]:
        waited.result()
    task.stop()
    by = [one.by for one in made]
    assert (None in by) is (threads == 1)  # the handles enter them then
    assert len({*by[:16]}) == len({*by[16:32]}) == len({*by[32:]}) == 1
