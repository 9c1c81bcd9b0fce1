"""Faults of an object store, one or many at any request of any way to write, of any service, and of reads.

    python -m tests.fire.object_store --faults 2000

A proxy stands between the operation and a real S3 server.  After each fault the table is looked at without the proxy:
it is as before the operation or as after it, what has answered is there, and the next write succeeds, after which
``verify()`` finds nothing.  Only errors of hudiformat's own tree are raised, and within the time limit.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import sys
import tempfile
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from pyarrow import fs

from hudiformat.errors import HudiFormatError
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from tests.fire.object_store_cases import CASES, Case
from tests.fire.object_store_proxy import Fault, Kind, Proxy, proxy_of
from tools.s3_server import KEY, SECRET, s3_server

PATIENCE = 0.5
"""Seconds that a client waits for an answer."""
LIMIT = 180.0
"""Seconds that an operation may take, whatever fails: each request is tried three times, which the client takes six
seconds for, and after some thirty that have failed an operation has given up and cleaned up as far as it could."""
OUTAGE = 10_000
"""As many requests as the operation will ever make."""
IN_A_ROW = (1, 2, 3, 4, 6, OUTAGE)


def filesystem(endpoint: str, patience: float = 30.0) -> fs.S3FileSystem:
    """The file system of the server, or of a proxy in front of it."""
    return fs.S3FileSystem(
        endpoint_override=endpoint,
        access_key=KEY,
        secret_key=SECRET,
        region="us-east-1",
        scheme="http",
        allow_bucket_creation=True,
        allow_delayed_open=True,
        connect_timeout=patience,
        request_timeout=patience,
    )


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case does without a fault, and to how many requests."""

    requests: int
    answer: object
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one fault: committed, refused, or unknown to the caller, and said to be; or a violation."""

    case: str
    fault: Fault
    outcome: str
    seconds: float
    violation: str | None = None


class Bench:
    """A bucket of a server, and a proxy in front of it."""

    def __init__(self, port: int, bucket: str, proxy: Proxy) -> None:
        self._direct = filesystem(f"http://127.0.0.1:{port}")
        self._bucket = bucket
        self._proxy = proxy

    def storage(self, name: str, *, proxied: bool = False) -> Storage:
        """The storage of a table, with or without faults."""
        used = filesystem(self._proxy.endpoint, PATIENCE) if proxied else self._direct
        return open_storage(f"{self._bucket}/{name}", filesystem=used)

    def prepare(self, case: Case) -> Expected:
        """Make the table of a case, and do its operation on a copy without a fault."""
        case.prepare(self.storage(_template(case)))
        with self._copied(case) as name:
            before = case.look(self.storage(name))
            self._proxy.begin(None)
            answer = case.run(self.storage(name, proxied=True))
            requests = self._proxy.count
            after = case.look(self.storage(name))
            case.recover(self.storage(name))
        return Expected(requests, answer, before, after)

    def attempt(self, case: Case, expected: Expected, fault: Fault) -> Result:
        """Do the operation of a case with a fault, and look at what it has left."""
        with self._copied(case) as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            storage = self.storage(name, proxied=True)
            self._proxy.begin(fault)
            began = time.monotonic()
            outcome, violation = self._run(case, expected, storage)
            seconds = time.monotonic() - began
            self._proxy.settle()
            if seconds > LIMIT:
                violation = f"took {seconds:.0f} s"
            found, unsound = self._inspect(case, expected, name, outcome)
            return Result(case.name, fault, found, seconds, violation or unsound)

    def _run(self, case: Case, expected: Expected, storage: Storage) -> tuple[str, str | None]:
        try:
            answer = case.run(storage)
        except HudiFormatError as error:
            return ("unknown" if "not known" in str(error) else "refused"), None
        except Exception as error:  # noqa: BLE001 - any other is what is looked for
            return "refused", f"foreign error {type(error).__name__}: {error}"
        wrong = case.reads and answer != expected.answer
        return "committed", f"answered {answer}" if wrong else None

    def _inspect(self, case: Case, expected: Expected, name: str, outcome: str) -> tuple[str, str | None]:
        storage = self.storage(name)
        try:
            found = case.look(storage)
            if not case.is_sound(found, expected.before, expected.after):
                return outcome, f"{outcome}, and found {found}"
            if outcome == "committed" and found != expected.after:
                return outcome, f"committed, and found {found}"
            is_done = expected.before != expected.after and found == expected.after
            if outcome == "refused" and is_done and not (case.repeats or case.goes_on):
                return outcome, "refused, though it is done"
            recovered = case.recover(storage)
            is_finished = case.goes_on and recovered == expected.after
            if recovered is not None and recovered != found and not is_finished:
                return outcome, f"found {found}, and after the next write {recovered}"
        except (HudiFormatError, AssertionError) as error:
            return outcome, f"{outcome}, and then: {type(error).__name__}: {error}"
        return outcome, None

    @contextlib.contextmanager
    def _copied(self, case: Case) -> Iterator[str]:
        name = f"run-{uuid.uuid4()}"
        source, target = (f"{self._bucket}/{one}" for one in (_template(case), name))
        selector = fs.FileSelector(source, recursive=True, allow_not_found=True)
        for found in self._direct.get_file_info(selector):
            if found.is_file:
                self._direct.copy_file(found.path, target + found.path.removeprefix(source))
        try:
            yield name
        finally:
            with contextlib.suppress(OSError):
                self._direct.delete_dir(target)


def _template(case: Case) -> str:
    return "template-" + "".join(sign if sign.isalnum() else "-" for sign in case.name)


def chosen(expected: dict[str, Expected], faults: int, seed: int) -> list[tuple[str, Fault]]:
    """So many faults, spread over all cases, kinds and requests, single ones and outages that do not end."""
    chance, by_case = random.Random(seed), {}
    for name, known in expected.items():
        every = [
            Fault(kind, at, count) for at, kind, count in product(range(known.requests), Kind, (1, 2, 3, 4, 6, OUTAGE))
        ]
        chance.shuffle(every)
        by_case[name] = every
    picked: list[tuple[str, Fault]] = []
    while len(picked) < faults and any(by_case.values()):
        picked += [(name, every.pop()) for name, every in by_case.items() if every]
    return picked[:faults]


def run(port: int, bucket: str, expected: dict[str, Expected], work: Sequence[tuple[str, Fault]]) -> list[Result]:
    """Do the *work* with a proxy of its own."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    cases = {case.name: case for case in CASES}
    with proxy_of(port, hold=3 * PATIENCE) as proxy:
        bench = Bench(port, bucket, proxy)
        return [bench.attempt(cases[name], expected[name], fault) for name, fault in work]


def prepared(port: int, bucket: str, cases: Iterable[Case]) -> dict[str, Expected]:
    """The tables of *cases*, and what these do without a fault."""
    filesystem(f"http://127.0.0.1:{port}").create_dir(bucket)
    with proxy_of(port, hold=3 * PATIENCE) as proxy:
        bench = Bench(port, bucket, proxy)
        return {case.name: bench.prepare(case) for case in cases}


def table_of(results: Sequence[Result]) -> str:
    """The results as a table: a line for each case, and one for each kind of fault."""
    lines = [
        "| operation | faults | committed | refused | unknown | longest, s | violations |",
        "|---|---|---|---|---|---|---|",
    ]
    cases = dict.fromkeys(result.case for result in results)
    groups = [(name, [one for one in results if one.case == name]) for name in cases]
    widths = {count: "all that follow" if count == OUTAGE else f"{count} in a row" for count in IN_A_ROW}
    groups += [(name, [one for one in results if one.fault.count == count]) for count, name in widths.items()]
    groups += [(kind.value, [one for one in results if one.fault.kind is kind]) for kind in Kind]
    for name, group in [*groups, ("all", list(results))]:
        outcomes = Counter(one.outcome for one in group)
        counts = [len(group), *(outcomes[name] for name in ("committed", "refused", "unknown"))]
        longest = max((one.seconds for one in group), default=0.0)
        violations = sum(one.violation is not None for one in group)
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {longest:.1f} | {violations} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the table, and every violation; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", action="append", help="the name of a case; all by default")
    given = parser.parse_args(arguments)
    cases = [case for case in CASES if given.case is None or case.name in given.case]
    with tempfile.TemporaryDirectory(prefix="hudiformat-faults-") as folder, s3_server(Path(folder)) as server:
        bucket = "faults"
        expected = prepared(server.port, bucket, cases)
        work = chosen(expected, given.faults, given.seed)
        parts = [work[start :: given.workers * 8] for start in range(given.workers * 8)]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(given.workers, mp_context=context) as pool:
            done = pool.map(partial(run, server.port, bucket, expected), [part for part in parts if part])
            results = [result for part in done for result in part]
    wrong = [f"{one.case}: {one.fault}: {one.violation}" for one in results if one.violation is not None]
    sys.stdout.write("\n".join([table_of(results), *wrong, ""]))
    return int(any(result.violation is not None for result in results))


if __name__ == "__main__":
    sys.exit(main())
