"""Azure: what would end the process is refused before, and blobs are put whole."""

from __future__ import annotations

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage.azure import check_azure
from hudiformat.storage.opening import open_storage

KEY = "a2V5"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("abfs://account:notbase64!@container/t", "a text in base64, found one of 10 characters"),
        ("abfs://account@container/t?enable_tls=false", "an account key or a SAS token"),
        ("abfs://container@account.dfs.core.windows.net/t?enable_tls=false", "an account key or a SAS token"),
    ],
)
def test_what_would_end_the_process_is_an_error(uri: str, said: str) -> None:
    with pytest.raises(StorageError, match=said) as caught:
        open_storage(uri)
    assert "notbase64" not in str(caught.value)


def test_a_file_system_with_http_and_no_key_is_refused() -> None:
    with pytest.raises(StorageError, match="found none; give storage_options"):
        open_storage("abfs://container/t", storage_options={"account_name": "account", "enable_tls": "false"})


@pytest.mark.parametrize("key", ["a+b/c===", "é", "abc"])
def test_a_key_that_is_cut_off_is_refused(key: str) -> None:
    with pytest.raises(StorageError, match="expected an account key of Azure"):
        check_azure({"account_key": key}, "abfs://c")


@pytest.mark.parametrize("given", [{"account_key": KEY}, {"sas_token": "sig=x"}, {}])
def test_what_the_client_can_use_is_not_refused(given: dict[str, str]) -> None:
    check_azure({**given, "blob_storage_scheme": "https"}, "abfs://c")


def test_a_key_in_the_uri_is_used_and_not_shown() -> None:
    storage = open_storage(f"abfs://account:{KEY}@container/t?enable_tls=false&blob_storage_authority=127.0.0.1:9")
    assert storage.root == "abfs://container/t"
