"""Objects created in one request, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from pyarrow import fs

from hudiformat.errors import StorageError
from hudiformat.storage import putting
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Capabilities
from hudiformat.storage.putting import S3Put, make_put


def test_without_conditional_puts_a_file_is_still_created_whole_and_once(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    storage = open_storage(f"{bucket}/table")
    assert storage.capabilities == Capabilities(lists_all=True)
    storage.create("file", b"first")
    with pytest.raises(StorageError, match="File exists"):
        storage.create("file", b"second")
    assert storage.read("file") == b"first"


def test_of_two_that_look_before_either_creates_one_is_refused_by_the_server(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_storage(f"{bucket}/table")
    storage.create("file", b"first")
    monkeypatch.setattr(storage, "exists", lambda _path: False)  # what the second saw, a moment ago
    with pytest.raises(StorageError, match="cannot create .*file: File exists"):
        storage.create("file", b"second")
    assert storage.read("file") == b"first"


class Server:
    """Stands for S3: it keeps objects with their metadata, and fails as a test wants."""

    def __init__(self, *failures: str | Exception | None) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.failures = list(failures)
        self.is_done = True
        """Whether a request that fails has been done all the same."""
        self.is_down = False

    def put_object(self, **request: Any) -> None:
        failure = self.failures.pop(0) if self.failures else None
        if failure is None or self.is_done:
            if "IfNoneMatch" in request and request["Key"] in self.objects:
                raise answer("PreconditionFailed")
            self.objects[request["Key"]] = {"Metadata": {}, **request}
        if isinstance(failure, Exception):
            raise failure
        if failure is not None:
            raise answer(failure)

    def head_object(self, **request: Any) -> dict[str, Any]:
        if self.is_down:
            raise EndpointConnectionError(endpoint_url="http://nowhere")
        if request["Key"] not in self.objects:
            raise answer("404")
        return self.objects[request["Key"]]


def answer(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, "PutObject")


def put_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> S3Put:
    monkeypatch.setattr(putting, "_s3_client", lambda _process, _settings: server)
    return S3Put(())


LOST: list[str | Exception] = ["InternalError", "SlowDown", ReadTimeoutError(endpoint_url="x"), "PreconditionFailed"]


@pytest.mark.parametrize("failure", LOST, ids=str)
def test_an_object_that_was_created_though_the_answer_was_lost_is_recognised(
    monkeypatch: pytest.MonkeyPatch, failure: str | Exception
) -> None:
    server = Server(failure)
    put_to(server, monkeypatch)("b/k", b"own", overwrite=False)
    assert server.objects["k"]["Body"] == b"own"


@pytest.mark.parametrize("failure", [None, *LOST], ids=str)
def test_an_object_of_another_writer_is_not_taken_for_ones_own_though_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch, failure: str | Exception | None
) -> None:
    server = Server(failure)
    put = put_to(server, monkeypatch)
    server.objects["k"] = {"Metadata": {}, "Body": b"same"}
    with pytest.raises(FileExistsError):
        put("b/k", b"same", overwrite=False)


def test_an_object_that_was_not_created_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("InternalError", "AccessDenied")
    server.is_done = False
    put = put_to(server, monkeypatch)
    for code in ("InternalError", "AccessDenied"):
        with pytest.raises(OSError, match=code) as caught:
            put("b/k", b"own", overwrite=False)
        assert "not known" not in str(caught.value)


def test_where_nobody_can_say_whether_it_was_created_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("InternalError", "InternalError")
    server.is_down = True
    put = put_to(server, monkeypatch)
    with pytest.raises(OSError, match="InternalError.*it is not known whether the object was created"):
        put("b/k", b"own", overwrite=False)
    with pytest.raises(OSError, match="InternalError") as caught:
        put("b/k", b"own", overwrite=True)  # it can be repeated
    assert "not known" not in str(caught.value)


def test_the_time_that_is_waited_for_an_answer_is_that_of_the_file_system() -> None:
    given = {"access_key": "a", "secret_key": "b", "region": "us-east-1", "endpoint_override": "http://127.0.0.1:1"}
    for settings, expected in (({}, (10.0, 30.0)), ({"connect_timeout": 0.5, "request_timeout": 0.25}, (0.5, 0.25))):
        put = make_put(fs.S3FileSystem(**given, **settings))
        assert isinstance(put, S3Put)
        config = putting._s3_client(0, put.settings).meta.config
        assert (config.connect_timeout, config.read_timeout) == expected
        assert config.retries["total_max_attempts"] == 3
