from __future__ import annotations

from tests.catalogs.fake_metastore import metastore_in_memory, metastore_on_a_port
from tests.tables import no_waiting_for_the_disk

__all__ = ["metastore_in_memory", "metastore_on_a_port", "no_waiting_for_the_disk"]
