from __future__ import annotations

from tests.tables import no_waiting_for_the_disk

__all__ = ["no_waiting_for_the_disk"]
