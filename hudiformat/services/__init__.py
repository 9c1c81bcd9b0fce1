"""What keeps a table in shape between its writes: compaction, cleaning, archiving, rollback, savepoint and restore."""

from hudiformat.services.cleaning import clean, plan_clean
from hudiformat.services.rolling_back import roll_back
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint

__all__ = [
    "clean",
    "delete_savepoint",
    "plan_clean",
    "restore",
    "roll_back",
    "savepoint",
]
