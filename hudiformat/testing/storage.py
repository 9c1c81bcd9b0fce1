"""The checks that every storage of a table passes, for those who bring one of their own.

    import pytest
    from hudiformat.testing.storage import STORE_CHECKS, StoreCheck

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=str)
    def test_our_store_keeps_tables(check: StoreCheck, our_empty_storage) -> None:
        check(our_empty_storage)

A check raises a StoreCheckError if the storage is wrong.  What a storage lacks and does not promise is no error;
``hudiformat store check URI`` prints it.
"""

from hudiformat.storage.checks import STORE_CHECKS, StoreCheck, StoreCheckError, StoreOutcome, StoreResult, check_store

__all__ = ["STORE_CHECKS", "StoreCheck", "StoreCheckError", "StoreOutcome", "StoreResult", "check_store"]
