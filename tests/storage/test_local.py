from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import resource
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage import local
from hudiformat.storage.local import LocalOutputFile, LocalStorage
from hudiformat.storage.protocol import Capabilities, FileInfo, Storage, TellsOneThing

PAGE = mmap.PAGESIZE


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_relative_root_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = LocalStorage("table")
    monkeypatch.chdir("/")
    assert storage.root == str(tmp_path / "table")


def test_a_storage_survives_pickle(storage: LocalStorage) -> None:
    copy: Storage = pickle.loads(pickle.dumps(storage))
    assert copy.root == storage.root


def test_the_local_file_system_can_do_everything(storage: LocalStorage) -> None:
    assert storage.capabilities == Capabilities(
        atomic_create=True,
        append=True,
        sync=True,
        sync_together=sys.platform == "linux",
        reopen=True,
        rename=True,
        map=True,
        lists_all=True,
    )


def test_a_listing_is_sorted_and_has_sizes_in_bytes(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "c").mkdir()
    assert storage.list("") == [FileInfo("a", 0, False), FileInfo("b", 5, False), FileInfo("c", 0, True)]


def test_a_listing_of_nothing_is_empty(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert storage.list("missing") == []
    assert storage.list("file") == []


def test_a_file_that_goes_away_while_listing_takes_no_other_along(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "stays").write_bytes(b"1")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert storage.list("") == [FileInfo("stays", 1, False)]


def test_a_folder_that_cannot_be_listed_is_an_error(storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="cannot list .*: File name too long"):
        storage.list("x" * 300)


def test_a_file_is_read_whole_or_mapped(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert storage.exists("file")
    assert storage.read("file") == b"content"
    assert bytes(storage.map("file")) == b"content"


def test_an_empty_file_is_mapped_to_no_bytes(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert bytes(storage.map("file")) == b""


@pytest.mark.parametrize("read", [LocalStorage.read, LocalStorage.map])
@pytest.mark.parametrize(("path", "reason"), [("missing", "No such file"), ("", "Is a directory")])
def test_what_cannot_be_read_is_an_error_with_its_path(
    storage: LocalStorage, read: object, path: str, reason: str
) -> None:
    assert callable(read)
    with pytest.raises(StorageError, match=f"cannot read .*: {reason}") as caught:
        read(storage, path)
    assert caught.value.path == str(Path(storage.root, path))


@pytest.mark.parametrize("sync", [True, False])
def test_a_created_file_appears_with_its_folders_and_leaves_nothing_else(
    storage: LocalStorage, tmp_path: Path, sync: bool
) -> None:
    storage.create("a/b/file", b"content", sync=sync)
    assert (tmp_path / "a/b/file").read_bytes() == b"content"
    assert names(tmp_path / "a/b") == ["file"]


def test_creating_what_exists_is_refused_and_changes_nothing(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("file", b"first")
    (tmp_path / ".file.crc").write_bytes(b"checksum")
    with pytest.raises(StorageError, match="cannot create .*file: File exists") as caught:
        storage.create("file", b"second")
    assert isinstance(caught.value.__cause__, FileExistsError)
    assert (tmp_path / "file").read_bytes() == b"first"
    assert names(tmp_path) == [".file.crc", "file"]


def test_of_several_writers_exactly_one_creates_the_file(storage: LocalStorage) -> None:
    def create(number: int) -> bool:
        try:
            storage.create("file", b"%d" % number)
        except StorageError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert sum(won) == 1
    assert storage.read("file") == b"%d" % won.index(True)


def test_overwriting_replaces_the_content_and_takes_the_old_checksum_away(
    storage: LocalStorage, tmp_path: Path
) -> None:
    storage.create("file", b"first")
    (tmp_path / ".file.crc").write_bytes(b"checksum of the first")
    storage.create("file", b"second", overwrite=True)
    assert storage.read("file") == b"second"
    assert names(tmp_path) == ["file"]


def test_a_checksum_whose_file_is_gone_does_not_bind_the_new_one(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / ".file.crc").write_bytes(b"left over")
    storage.create("file", b"new")
    assert names(tmp_path) == ["file"]


def test_a_file_below_a_file_is_an_error(storage: LocalStorage) -> None:
    storage.create("file", b"")
    with pytest.raises(StorageError, match="cannot create"):
        storage.create("file/below", b"")


def test_a_new_file_grows_and_knows_its_size(storage: LocalStorage, tmp_path: Path) -> None:
    with storage.open_new("a/log") as file:
        file.write(b"one", memoryview(b"two"), b"")
        file.write()
        assert (file.size, (tmp_path / "a/log").read_bytes()) == (6, b"onetwo")
        file.sync()
        file.write(memoryview(bytearray(16)).cast("q"))
        file.sync()
        assert file.size == 22
    assert storage.list("a") == [FileInfo("log", 22, False)]


def test_more_parts_than_one_system_call_takes_are_all_written(storage: LocalStorage) -> None:
    parts = [b"%d," % number for number in range(5000)]
    with storage.open_new("log") as file:
        file.write(*parts)
    assert storage.read("log") == b"".join(parts)


def test_a_system_that_writes_less_than_asked_is_asked_again(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "writev", lambda handle, parts: os.write(handle, bytes(parts[0])[:2]))
    with storage.open_new("log") as file:
        file.write(b"abcde", b"fgh")
        assert file.size == 8
    assert storage.read("log") == b"abcdefgh"


def test_a_new_file_where_there_is_one_is_refused(storage: LocalStorage) -> None:
    storage.create("log", b"there")
    with pytest.raises(StorageError, match="cannot create .*log: File exists"):
        storage.open_new("log")
    assert storage.read("log") == b"there"


def test_a_new_file_takes_a_left_over_checksum_away(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / ".log.crc").write_bytes(b"left over")
    storage.open_new("log").close()
    assert names(tmp_path) == ["log"]


def test_a_closed_file_can_be_closed_again_and_no_longer_written(storage: LocalStorage) -> None:
    file = storage.open_new("log")
    file.close()
    file.close()
    with storage.open_new("other"):  # gets the descriptor that the closed file had
        with pytest.raises(StorageError, match="cannot write .*log"):
            file.write(b"lost")
        with pytest.raises(StorageError, match="cannot sync .*log"):
            file.sync()
    assert storage.read("other") == b""


def test_a_full_disk_is_an_error_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, mode=0o777: real(path, flags & ~os.O_EXCL, mode))
    with (
        LocalOutputFile(str(full), str(full.parent)) as file,
        pytest.raises(StorageError, match="No space left") as caught,
    ):
        file.write(b"data")
    assert caught.value.path == "/dev/full"


def test_a_disk_that_fails_to_sync_is_an_error(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_handle: int) -> None:
        raise OSError(5, "Input/output error")

    with storage.open_new("log") as file:
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="cannot sync .*log: Input/output error"):
            file.sync()


def test_a_deleted_file_takes_its_checksum_along(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("file", b"")
    (tmp_path / ".file.crc").write_bytes(b"checksum")
    assert storage.delete("file")
    assert names(tmp_path) == []


def test_a_folder_is_deleted_with_all_in_it(storage: LocalStorage) -> None:
    storage.create("a/b/file", b"")
    assert storage.delete_folder("a")
    assert not storage.exists("a")
    assert not storage.delete_folder("a")


def test_deleting_nothing_says_so(storage: LocalStorage) -> None:
    assert not storage.delete("missing")


def test_an_empty_folder_is_there(storage: LocalStorage) -> None:
    storage.make_folder("deep/folder")
    assert storage.exists("deep/folder")


def test_a_folder_that_cannot_be_made_is_an_error(storage: LocalStorage) -> None:
    storage.create("in the way", b"")
    with pytest.raises(StorageError, match="cannot create .*: Not a directory"):
        storage.make_folder("in the way/folder")


def test_what_cannot_be_deleted_is_an_error(storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="cannot delete .*: File name too long"):
        storage.delete("x" * 300)


@pytest.mark.parametrize("make", [lambda storage: storage.create("a/b", b""), lambda storage: storage.open_new("a/b")])
def test_a_folder_that_is_deleted_before_its_first_file_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[LocalStorage], object]
) -> None:
    made, deletions = os.mkdir, iter([True, True, False])

    def then_delete(path: str) -> None:
        made(path)
        if path.endswith("/a") and next(deletions, False):
            Path(path).rmdir()

    monkeypatch.setattr(os, "mkdir", then_delete)
    make(LocalStorage(tmp_path))
    assert (tmp_path / "a" / "b").exists()


def test_a_folder_that_never_stays_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "mkdir", lambda *_arguments, **_options: None)
    with pytest.raises(StorageError, match="cannot create .*No such file"):
        LocalStorage(tmp_path).create("a/b", b"")


def test_new_files_and_folders_have_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "table")
    before = os.umask(0o007)
    try:
        storage.create("folder/created", b"1")
        storage.open_new("folder/opened").close()
    finally:
        os.umask(before)
    modes = {name: (tmp_path / "table" / name).stat().st_mode & 0o777 for name in ("folder/created", "folder/opened")}
    assert modes == {"folder/created": 0o660, "folder/opened": 0o660}
    assert (tmp_path / "table/folder").stat().st_mode & 0o777 == 0o770


@pytest.fixture
def linked(tmp_path: Path) -> LocalStorage:
    """A table with links to a folder and a file outside of it, and to those inside, and a link in its own path."""
    for folder in ("table/inside", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_bytes(b"content")
        (tmp_path / "table" / f"{Path(folder).name}-folder").symlink_to(tmp_path / folder)
        (tmp_path / "table" / f"{Path(folder).name}-file").symlink_to(tmp_path / folder / "file")
    (tmp_path / "way").symlink_to(tmp_path / "table")
    return LocalStorage(tmp_path / "way")


@pytest.mark.parametrize("path", ["outside-folder", "outside-folder/file", "outside-folder/new", "outside-file"])
@pytest.mark.parametrize("read", [LocalStorage.read, LocalStorage.map, LocalStorage.list, LocalStorage.exists])
def test_a_link_out_of_the_table_is_not_followed(linked: LocalStorage, read: object, path: str) -> None:
    assert callable(read)
    with pytest.raises(StorageError, match="a symbolic link leads out of"):
        read(linked, path)


def test_a_link_out_of_the_table_is_no_way_to_write_or_delete(linked: LocalStorage, tmp_path: Path) -> None:
    for change in (
        lambda: linked.create("outside-folder/new", b""),
        lambda: linked.open_new("outside-folder/new"),
        lambda: linked.make_folder("outside-folder/new"),
        lambda: linked.rename("inside/file", "outside-folder/new"),
        lambda: linked.rename("outside-folder/file", "inside/new"),
        lambda: linked.delete("outside-folder/file"),
    ):
        with pytest.raises(StorageError, match="a symbolic link leads out of"):
            change()
    assert names(tmp_path / "outside") == ["file"]
    assert linked.delete("outside-folder")  # the link itself is in the table
    (tmp_path / "table" / "outside-folder").symlink_to(tmp_path / "outside")
    assert linked.delete_folder("outside-folder")
    assert names(tmp_path / "outside") == ["file"]
    linked.create("outside-file", b"new", overwrite=True)
    assert (tmp_path / "outside/file").read_bytes() == b"content"


def test_a_link_within_the_table_is_followed(linked: LocalStorage) -> None:
    assert linked.read("inside-folder/file") == linked.read("inside-file") == b"content"
    assert linked.list("inside-folder") == [FileInfo("file", 7, False)]


def test_a_name_that_is_no_text_is_left_out_of_a_listing(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("file", b"")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")).write_bytes(b"")
    assert storage.list("") == [FileInfo("file", 0, False)]


@pytest.mark.parametrize("method", [LocalStorage.exists, LocalStorage.read, LocalStorage.map, LocalStorage.list])
def test_a_name_that_is_too_long_is_an_error(storage: LocalStorage, method: object) -> None:
    assert callable(method)
    with pytest.raises(StorageError, match="File name too long"):
        method(storage, "x" * 5000)


def test_too_many_open_files_are_an_error(storage: LocalStorage) -> None:
    storage.create("file", b"x")
    storage.list("")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for call in (
            lambda: storage.read("file"),
            lambda: storage.map("file"),
            lambda: storage.list(""),
            lambda: storage.create("new", b""),
            lambda: storage.open_new("new"),
        ):
            with pytest.raises(StorageError, match="Too many open files"):
                call()
    finally:
        for handle in held:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_file_that_cannot_be_closed_is_an_error(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    file = storage.open_new("log")
    real = os.close

    def full(handle: int) -> None:
        real(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "close", full)
    with pytest.raises(StorageError, match="cannot close .*log: No space left"):
        file.close()


@pytest.mark.parametrize("root", ["/tab\0le", "/tab\ud800le"])
def test_a_root_that_is_no_path_is_refused(root: str) -> None:
    with pytest.raises(StorageError, match="refused the path"):
        LocalStorage(root)


def note_synced(monkeypatch: pytest.MonkeyPatch, synced: list[Path]) -> None:
    """Have the folders that are synced noted, and not synced."""
    monkeypatch.setattr(local, "_sync_folder", lambda folder: synced.append(Path(folder)))


@pytest.mark.parametrize("way", ["create", "open_new", "rename"])
def test_the_folders_above_a_new_file_are_synced_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    storage = LocalStorage(tmp_path / "table")
    synced: list[Path] = []
    note_synced(monkeypatch, synced)
    storage.create("file", b"", sync=False)
    if way == "create":
        storage.create("a/b/file", b"")
    elif way == "rename":
        storage.rename("file", "a/b/file")
    else:
        with storage.open_new("a/b/file") as file:
            file.sync()
    above = [tmp_path / "table/a/b", tmp_path / "table/a", tmp_path / "table", tmp_path]
    assert [folder for folder in above if folder not in synced] == []
    synced.clear()
    storage.create("a/b/other", b"")
    assert synced == [tmp_path / "table/a/b"]  # those above are known to be on disk
    storage.delete_folder("a")
    synced.clear()
    storage.create("a/b/file", b"")
    assert tmp_path / "table" in synced


def test_folders_that_somebody_else_has_deleted_are_synced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path / "table")
    storage.create("a/b/file", b"")
    shutil.rmtree(tmp_path / "table/a")
    synced: list[Path] = []
    note_synced(monkeypatch, synced)
    storage.create("a/b/file", b"")
    assert synced == [tmp_path / "table/a/b", tmp_path / "table/a", tmp_path / "table"]


def test_folders_whose_sync_failed_are_synced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    failing = [tmp_path]
    synced: list[Path] = []

    def sync(folder: str) -> None:
        if Path(folder) in failing:
            raise OSError(5, "input/output error")
        synced.append(Path(folder))

    monkeypatch.setattr(local, "_sync_folder", sync)
    with pytest.raises(OSError, match="input/output error"):
        local._sync_entry(f"{tmp_path}/a/b/file", str(tmp_path))
    failing.clear()
    synced.clear()
    local._sync_entry(f"{tmp_path}/a/b/file", str(tmp_path))
    assert synced == [tmp_path / "a/b", tmp_path / "a", tmp_path]


def test_deletions_are_synced_with_their_folder_or_the_one_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path / "table")
    storage.create("a/b/file", b"")
    synced: list[Path] = []
    note_synced(monkeypatch, synced)
    storage.sync_deletions("a/b")
    storage.delete_folder("a")
    storage.sync_deletions("a/b")
    assert synced == [tmp_path / "table/a/b", tmp_path / "table"]


@pytest.mark.parametrize("known", [True, False])
def test_deletions_that_cannot_be_synced_are_an_error_unless_the_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    def fail(_folder: str) -> None:
        raise OSError(5, "Input/output error") if known else FileNotFoundError(2, "No such file")

    monkeypatch.setattr(local, "_sync_folder", fail)
    storage = LocalStorage(tmp_path)
    if known:
        with pytest.raises(StorageError, match=f"cannot sync {tmp_path}: Input/output error"):
            storage.sync_deletions("")
    else:
        storage.sync_deletions("")


def test_forgetting_what_was_never_synced_does_nothing(tmp_path: Path) -> None:
    local._forget_synced(f"{tmp_path}/nowhere/at/all")
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_are_listed_without_asking_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path)
    for name in ("b", "a", "folder/inner"):
        storage.create(name, b"x", sync=False)
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff", os.O_CREAT))
    monkeypatch.setattr("hudiformat.storage.local._file_info", pytest.fail)
    assert isinstance(storage, TellsOneThing)
    assert sorted(storage.list_names("")) == ["a", "b"]
    assert storage.list_names("nowhere") == storage.list_names("a") == []


def test_the_size_of_a_file_is_told_without_opening_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = LocalStorage(tmp_path)
    storage.create("folder/file", b"12345", sync=False)
    monkeypatch.setattr("hudiformat.storage.local.map_file", pytest.fail)
    assert storage.size("folder/file") == 5
    for path in ("nothing", "folder", "folder/file/inner"):
        with pytest.raises(StorageError, match=path):
            storage.size(path)
