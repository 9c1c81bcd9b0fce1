"""Python's garbage collection, out of the way of listings of hundreds of thousands of files."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No collection of cycles for as long as the block lasts.

    File slices are in no cycles, and going through all of them again and again as they become more takes a sixth of the
    time of a large listing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
