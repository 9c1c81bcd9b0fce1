"""The calls that a table makes of its storage, tried on a real one: what works, what is missing, what is wrong.

Each check is a function of an empty storage.  A storage that is wrong in one of them loses rows or commits; one that
lacks something is slower, or has one writer at a time.
"""

from __future__ import annotations

import contextlib
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum

from hudiformat.errors import HudiFormatError, StorageError
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage

_WRITERS, _ROUNDS = 8, 3
_MANY = 1050  # objects: a page of an object store's listing has 1,000
_LARGE = 9 << 20  # bytes: more than a part of an upload, and than is fetched at once
_CLOCK_SECONDS = 60.0


class StoreOutcome(Enum):
    """What a check of a storage has found."""

    WORKS = "works"
    LACKS = "lacks"
    """The storage does not have it and does not promise it."""
    WRONG = "wrong"
    """The storage does other than a table needs, or than its capabilities say."""


class StoreCheckError(HudiFormatError):
    """A storage does other than a table needs, which a check has found."""


class _LackingError(Exception):
    """The storage does not have what the check looks for; the message says what follows."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """One check of a storage; calling it raises a StoreCheckError if the storage is wrong.

    ``name`` is a sentence about the storage.
    """

    name: str
    run: Callable[[Storage], None]

    def __str__(self) -> str:
        return self.name

    def __call__(self, storage: Storage) -> None:
        """Check *storage*, which is empty; what it lacks and does not promise is no error.

        Raises:
            StoreCheckError: the storage is wrong.
        """
        result = self.result(storage)
        if result.outcome is StoreOutcome.WRONG:
            raise StoreCheckError(f"{storage.root}: {self.name}: {result.detail}")

    def result(self, storage: Storage) -> StoreResult:
        """Check *storage*, which is empty, and return what was found."""
        began = time.monotonic()
        outcome, detail = StoreOutcome.WORKS, ""
        try:
            self.run(storage)
        except _LackingError as lack:
            outcome, detail = StoreOutcome.LACKS, str(lack)
        except Exception as error:  # noqa: BLE001 - whatever a storage raises that it should not
            outcome = StoreOutcome.WRONG
            detail = str(error) if isinstance(error, HudiFormatError) else f"{type(error).__name__}: {error}"
        return StoreResult(self.name, outcome, detail, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What a check of a storage has found; ``detail`` says what was expected and found, if it does not work."""

    name: str
    outcome: StoreOutcome
    detail: str = ""
    seconds: float = 0.0


def check_store(storage: Storage) -> Iterator[StoreResult]:
    """Try everything that a table needs in a new folder of *storage*, which is deleted at the end.

    Source: spec/storage.md.
    """
    for check in STORE_CHECKS:
        folder = f"hudiformat-store-check-{uuid.uuid4()}"
        below = FolderStorage(storage, folder)
        result = check.result(below)
        with contextlib.suppress(HudiFormatError):
            below.delete_folder("made")
            storage.delete_folder(folder)
        yield result


def _expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise StoreCheckError(f"expected {what} to be {expected!r}, found {found!r}")


def _names(storage: Storage, path: str = "") -> list[tuple[str, bool]]:
    return [(entry.name, entry.is_dir) for entry in storage.list(path)]


@contextlib.contextmanager
def _refused(what: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        return
    raise StoreCheckError(f"expected a StorageError from {what}, found none")


def _creates_and_reads(storage: Storage) -> None:
    for content in (b"content", b""):
        storage.create(f"a/{len(content)}", content)
        _expect(storage.read(f"a/{len(content)}"), content, "the content of a new file")


def _maps(storage: Storage) -> None:
    storage.create("file", b"content")
    _expect(bytes(storage.map("file")), b"content", "the mapped content")


def _reads_ranges(storage: Storage) -> None:
    storage.create("file", bytes(range(256)))
    with storage.open_input("file") as file:
        _expect(file.size(), 256, "the size of an open file")
        _expect(file.read_at(5, 100), bytes(range(100, 105)), "a range")
        _expect(file.read_at(5, 253), b"\xfd\xfe\xff", "a range over the end")


def _reads_large(storage: Storage) -> None:
    content = bytes(range(251)) * (_LARGE // 251)
    with storage.open_new("large") as file:
        for start in range(0, len(content), 1 << 20):
            file.write(content[start : start + (1 << 20)])
    _expect(len(storage.read("large")), len(content), "the size of a large file")
    _expect(bytes(storage.map("large")) == content, True, "a large file to have its content")


def _reads_new_content(storage: Storage) -> None:
    storage.create("file", b"first")
    _expect(storage.read("file"), b"first", "the first content")
    storage.create("file", b"the second one", overwrite=True)
    _expect(storage.read("file"), b"the second one", "the content after the file was replaced")
    _expect([entry.size for entry in storage.list("")], [14], "the listed size after the file was replaced")


def _replaces_new(storage: Storage) -> None:
    storage.create("a/file", b"1", overwrite=True)
    _expect(storage.read("a/file"), b"1", "what replaces nothing")


def _refuses_missing(storage: Storage) -> None:
    for what, call in (("read", storage.read), ("map", storage.map), ("open_input", storage.open_input)):
        with _refused(f"{what} of a file that is missing"):
            call("a/missing")


def _keeps_existing(storage: Storage) -> None:
    storage.create("file", b"first")
    with _refused("create of a file that exists"):
        storage.create("file", b"second")
    _expect(storage.read("file"), b"first", "the content after a second create")
    _expect(_names(storage), [("file", False)], "the listing after a second create")


def _one_creates(storage: Storage) -> None:
    for number in range(_ROUNDS):
        path = f"race/{number}"

        def create(writer: int, path: str = path) -> bool:
            try:
                storage.create(path, b"%d" % writer)
            except StorageError:
                return False
            return True

        with ThreadPoolExecutor(_WRITERS) as pool:
            won = list(pool.map(create, range(_WRITERS)))
        if not storage.capabilities.atomic_create:
            raise _LackingError("several writers can create one file: one writer at a time, or an external lock")
        _expect(sum(won), 1, "the number of writers that create one file")
        _expect(won[int(storage.read(path))], True, "the writer whose content stays to be told so")


def _creates_whole(storage: Storage) -> None:
    """See whether a reader meets a part of a new file."""
    content, seen = b"b" * 200_000, set()
    with ThreadPoolExecutor(1) as pool:
        for number in range(_ROUNDS):
            path = f"file-{number}"
            writing = pool.submit(storage.create, path, content)
            while not writing.done():
                with contextlib.suppress(StorageError):
                    seen.add(len(storage.read(path)))
            writing.result()
    _expect(seen - {len(content)}, set(), "the sizes of a part of a file that a reader has seen")


def _lists_sorted(storage: Storage) -> None:
    for path, data in {"b": b"12345", "a": b"", "c/file": b"x", "aa": b"1", ".hidden": b"", "B": b""}.items():
        storage.create(path, data)
    listed = [(entry.name, entry.size, entry.is_dir) for entry in storage.list("")]
    expected = [(".hidden", 0, False), ("B", 0, False), ("a", 0, False), ("aa", 1, False), ("b", 5, False)]
    _expect(listed, [*expected, ("c", 0, True)], "the listing")


def _lists_folders(storage: Storage) -> None:
    """See whether a listing has folders that have no object of their own: only the names of deeper files tell."""
    storage.create("a/b/c/file", b"x")
    storage.create("a/b2/file", b"x")
    for path, expected in {"": [("a", True)], "a": [("b", True), ("b2", True)], "a/b": [("c", True)]}.items():
        _expect(_names(storage, path), expected, f"the listing of {path or 'the root'}")


def _lists_one_folder(storage: Storage) -> None:
    storage.create("top", b"")
    storage.create("a/one", b"")
    storage.create("a/b/two", b"")
    _expect(_names(storage), [("a", True), ("top", False)], "the listing of the root")
    _expect(_names(storage, "a"), [("b", True), ("one", False)], "the listing of a folder")


def _lists_nothing(storage: Storage) -> None:
    storage.create("file", b"")
    for path in ("missing", "fil", "file", "missing/deeper"):
        _expect(storage.list(path), [], f"the listing of {path}, which is no folder,")


def _lists_at_once(storage: Storage) -> None:
    storage.create("a/1", b"")
    _expect(_names(storage, "a"), [("1", False)], "the first listing")
    storage.create("a/2", b"")
    storage.delete("a/1")
    storage.create("a/deep/3", b"")
    _expect(_names(storage, "a"), [("2", False), ("deep", True)], "the listing after a create and a delete")


def _lists_many(storage: Storage) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: storage.create(f"many/{number:05}", b""), range(_MANY)))
    _expect(len(storage.list("many")), _MANY, "the number of entries of a listing of several pages")


def _lists_times(storage: Storage) -> None:
    storage.create("file", b"")
    (found,) = storage.list("")
    if found.modified is None:
        raise _LackingError("listings have no times: a lock file expires only after it was watched for its time")
    _expect(abs(time.time() - found.modified / 1000) < _CLOCK_SECONDS, True, "the time of a new file to be now")


def _lists_odd_names(storage: Storage) -> None:
    names = sorted(["day=2024-01-01", "a b", "x%2Fy", "ä", "~a+b&c", "#1", "q?r", "[0]", "a*b", "semi;colon"])
    for name in names:
        storage.create(f"{name}/file", name.encode())
    _expect([name for name, _ in _names(storage)], names, "the names of the folders")
    for name in names:
        _expect(_names(storage, name), [("file", False)], f"the listing of {name}")
        _expect(storage.read(f"{name}/file"), name.encode(), f"the content of {name}/file")


def _knows_what_exists(storage: Storage) -> None:
    storage.create("a/b/file", b"")
    for path, expected in {"a": True, "a/b": True, "a/b/file": True, "a/b/fil": False, "missing": False}.items():
        _expect(storage.exists(path), expected, f"whether {path} exists")


def _writes_pieces(storage: Storage) -> None:
    with storage.open_new("a/log") as file:
        file.write(b"one", memoryview(b"two"), b"")
        file.write()
        file.sync()
        file.write(b"three")
        _expect(file.size, 11, "the size of a file that is being written")
    _expect(storage.read("a/log"), b"onetwothree", "the content of a file that was written in pieces")


def _writes_nothing(storage: Storage) -> None:
    storage.open_new("a/marker").close()
    _expect(_names(storage, "a"), [("marker", False)], "the listing of an empty file")


def _opens_no_existing(storage: Storage) -> None:
    storage.create("log", b"there")
    with _refused("open_new of a file that exists"):
        storage.open_new("log")
    _expect(storage.read("log"), b"there", "the content after open_new")


def _ends_closed_files(storage: Storage) -> None:
    file = storage.open_new("log")
    file.write(b"1")
    file.close()
    file.close()
    with _refused("a write to a closed file"):
        file.write(b"lost")


def _shows_growth(storage: Storage) -> None:
    with storage.open_new("log") as file:
        file.write(b"12345")
        file.sync()
        found = storage.read("log") if storage.exists("log") else b""
        if not storage.capabilities.append:
            raise _LackingError("an open file shows its content when it is closed")
        _expect(found, b"12345", "the content of an open file")


def _abandons(storage: Storage) -> None:
    file = storage.open_new("log")
    file.write(b"1")
    file.abandon()
    storage.delete("log")
    storage.create("log", b"again")
    _expect(storage.read("log"), b"again", "the content after a file was abandoned")


def _renames(storage: Storage) -> None:
    storage.create("staged/file", b"content")
    storage.rename("staged/file", "day=1/other")
    _expect(storage.read("day=1/other"), b"content", "the content under the new name")
    _expect(storage.exists("staged/file"), False, "whether the old name exists")
    if not storage.capabilities.rename:
        raise _LackingError("a rename copies and deletes")


def _renames_no_file_over_another(storage: Storage) -> None:
    storage.create("a", b"first")
    storage.create("b", b"second")
    with _refused("a rename to a name that exists"):
        storage.rename("a", "b")
    _expect((storage.read("a"), storage.read("b")), (b"first", b"second"), "the two contents")


def _renames_nothing(storage: Storage) -> None:
    with _refused("a rename of a file that is missing"):
        storage.rename("missing", "folder/name")
    _expect(storage.exists("folder/name"), False, "whether the new name exists")


def _makes_folders(storage: Storage) -> None:
    for _ in range(2):
        storage.make_folder("made/deep")
    _expect(storage.list("made/deep"), [], "the listing of a new folder")
    storage.create("made/deep/file", b"")
    _expect(_names(storage, "made/deep"), [("file", False)], "the listing of a folder with a file")


def _deletes_once(storage: Storage) -> None:
    storage.create("a/b", b"")
    _expect([storage.delete("a/b"), storage.delete("a/b")], [True, False], "what two deletes return")
    _expect(storage.exists("a/b"), False, "whether a deleted file exists")
    _expect(storage.delete("missing"), False, "what a delete of nothing returns")


def _deletes_no_folder(storage: Storage) -> None:
    storage.create("a/b.parquet/file", b"")
    with _refused("delete of a folder"):
        storage.delete("a/b.parquet")
    with _refused("delete_folder of a file"):
        storage.delete_folder("a/b.parquet/file")
    _expect(storage.exists("a/b.parquet/file"), True, "whether the file still exists")


def _deletes_folders(storage: Storage) -> None:
    storage.create("a/b/file", b"")
    storage.create("a/other", b"")
    storage.create("a2/file", b"")
    _expect(storage.delete_folder("a"), True, "what delete_folder returns")
    left = [path for path in ("a/b/file", "a/other") if storage.exists(path)]  # a server may keep an empty folder
    _expect(left, [], "what is left of a folder that was deleted")
    _expect(_names(storage, "a2"), [("file", False)], "the listing of a folder with a similar name")
    _expect(storage.delete_folder("missing"), False, "what delete_folder of nothing returns")


def _keeps_full_folders(storage: Storage) -> None:
    storage.create("a/b/file", b"1")
    for path in ("a", "a/b", "missing", "a/b/file"):
        _expect(storage.delete_empty_folder(path), False, f"what delete_empty_folder of {path} returns")
    _expect(storage.read("a/b/file"), b"1", "the content of a folder that is not empty")


def _makes_again(storage: Storage) -> None:
    storage.create("a/file", b"1")
    storage.delete("a/file")
    storage.create("a/file", b"2")
    _expect(storage.read("a/file"), b"2", "the content of a file that was deleted and made again")


def _syncs_deletions(storage: Storage) -> None:
    storage.create("a/b/file", b"1")
    storage.delete("a/b/file")
    for folder in ("a/b", "missing", ""):
        storage.sync_deletions(folder)


def _stays_inside(storage: Storage) -> None:
    storage.create("file", b"1")
    for bad in ("..", "../file", "a/../../file", "/file", "a//file", "./file", "fi\0le"):
        for what, call in (("read", storage.read), ("list", storage.list), ("delete", storage.delete)):
            with _refused(f"{what} of {bad!r}"):
                call(bad)


def _is_pickled(storage: Storage) -> None:
    storage.create("file", b"content")
    copy: Storage = pickle.loads(pickle.dumps(storage))  # noqa: S301 - our own bytes
    _expect((copy.root, copy.capabilities), (storage.root, storage.capabilities), "root and capabilities of a copy")
    _expect(copy.read("file"), b"content", "what a copy reads")


def _serves_threads(storage: Storage) -> None:
    def work(number: int) -> bytes:
        storage.create(f"{number}/file", b"%d" % number)
        storage.list("")
        return storage.read(f"{number}/file")

    with ThreadPoolExecutor(_WRITERS) as pool:
        _expect(list(pool.map(work, range(32))), [b"%d" % number for number in range(32)], "what threads read")


def _names_the_file(storage: Storage) -> None:
    try:
        storage.read("a/missing")
    except StorageError as error:
        _expect(error.path, f"{storage.root}/a/missing", "the path of the error")


def _sets_times(storage: Storage) -> None:
    storage.create("file", b"1")
    if not storage.set_modified("file", 1_700_000_000_000):
        raise _LackingError("only the server sets the time of a file: a table taken back to version 6 loses its order")
    _expect([entry.modified for entry in storage.list("")], [1_700_000_000_000], "the time that was set")


STORE_CHECKS: tuple[StoreCheck, ...] = (
    StoreCheck("a new file has its content", _creates_and_reads),
    StoreCheck("a file is mapped", _maps),
    StoreCheck("a file is read in ranges", _reads_ranges),
    StoreCheck("a large file is written in parts and read whole", _reads_large),
    StoreCheck("a file that is replaced has its new content at once", _reads_new_content),
    StoreCheck("a file that is missing is replaced, too", _replaces_new),
    StoreCheck("what is missing cannot be read", _refuses_missing),
    StoreCheck("an error names the file", _names_the_file),
    StoreCheck("a file that exists is not created again", _keeps_existing),
    StoreCheck("of several writers one creates a file", _one_creates),
    StoreCheck("a reader sees a file whole", _creates_whole),
    StoreCheck("a listing is sorted, with sizes", _lists_sorted),
    StoreCheck("a listing has folders of which only deeper files tell", _lists_folders),
    StoreCheck("a listing has one folder, not those below", _lists_one_folder),
    StoreCheck("a listing of no folder is empty", _lists_nothing),
    StoreCheck("a listing shows what was just written and deleted", _lists_at_once),
    StoreCheck("a listing of several pages is whole", _lists_many),
    StoreCheck("a listing has times", _lists_times),
    StoreCheck("names may have any characters", _lists_odd_names),
    StoreCheck("what exists is known", _knows_what_exists),
    StoreCheck("a file is written in pieces", _writes_pieces),
    StoreCheck("a file may be empty", _writes_nothing),
    StoreCheck("a file that exists is not opened as a new one", _opens_no_existing),
    StoreCheck("a closed file takes no more", _ends_closed_files),
    StoreCheck("an open file grows for readers", _shows_growth),
    StoreCheck("a file that was abandoned can be written again", _abandons),
    StoreCheck("a file gets another name in one step", _renames),
    StoreCheck("a name that is taken is not given again", _renames_no_file_over_another),
    StoreCheck("what is missing is not renamed", _renames_nothing),
    StoreCheck("a folder is made", _makes_folders),
    StoreCheck("a file is deleted once", _deletes_once),
    StoreCheck("a folder is no file when it comes to deleting", _deletes_no_folder),
    StoreCheck("a folder is deleted with all its files and no others", _deletes_folders),
    StoreCheck("a folder with files stays", _keeps_full_folders),
    StoreCheck("a file that was deleted can be made again", _makes_again),
    StoreCheck("deletions are synced", _syncs_deletions),
    StoreCheck("no path leads out", _stays_inside),
    StoreCheck("a storage can be pickled", _is_pickled),
    StoreCheck("several threads use a storage", _serves_threads),
    StoreCheck("the time of a file can be set", _sets_times),
)
"""What a table needs of its storage."""
