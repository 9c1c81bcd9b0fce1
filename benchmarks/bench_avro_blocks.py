"""Arrow to Avro data blocks and back, against plain fastavro on the same rows in the same run.

One thread, blocks of 50,000 records, the minimum of several rounds; memory is the peak of the process above what it had
before.  Run with ``make bench``; the ratios count, absolute speed depends on the machine.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import fastavro
import numpy as np
import pyarrow as pa

import hudiformat as hf
from hudiformat.avro import arrow_to_avro
from hudiformat.basefile import add_meta_columns

BLOCK_ROWS = 50_000
PEER_ROWS = 10_000  # fastavro's cost per row does not depend on how many there are


@dataclass(frozen=True, slots=True)
class Result:
    """Rows per second of one case, ours and the peer's; memory in MB."""

    case: str
    ours: float
    peer: float
    peak_mb: float

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return self.ours / self.peer


def rows(count: int) -> pa.RecordBatch:
    """Five meta fields and ten mixed columns, about 200 bytes a row."""
    random = np.random.default_rng(7)
    numbers = random.integers(0, 2**31, count)
    nulls = random.random(count) < 0.1
    text = pa.array([f"user-{number:010d}@example.org" for number in numbers.tolist()])
    columns = {
        "id": pa.array([f"key-{i:012d}" for i in range(count)]),
        "user": text,
        "city": pa.array(np.array(["Oslo", "Lima", "Hanoi", "Quito"])[numbers % 4]),
        "small": pa.array(numbers % 1000, pa.int32(), mask=nulls),
        "large": pa.array(numbers * 2**30, pa.int64(), mask=nulls),
        "ratio": pa.array(random.random(count)),
        "flag": pa.array(numbers % 2 == 0),
        "at": pa.array(numbers.astype(np.int64) * 10**6, pa.timestamp("us", tz="UTC")),
        "on": pa.array((numbers % 20_000).astype(np.int32), pa.date32()),
        "note": pa.array(np.array(["", "a short note", "a note that is rather longer than the others"])[numbers % 3]),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    return add_meta_columns(
        batch,
        batch["id"],
        instant="20260101000000000",
        partition_path="p",
        file_name="4f5ac1c5-a5c7-4931-baa5-62c516209743-0",
        task_partition=0,
        first_counter=0,
    )


def fastest(action: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_mb() -> float:
    """The most memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(count: int, rounds: int) -> list[Result]:
    """Encoding and decoding *count* rows."""
    batch = rows(count)
    schema = arrow_to_avro(batch.schema, name="bench", namespace="hoodie")
    parsed = fastavro.parse_schema(json.loads(schema))
    parts = [batch.slice(start, BLOCK_ROWS) for start in range(0, count, BLOCK_ROWS)]
    few = batch.slice(0, PEER_ROWS).to_pylist()
    encoded: list[bytes] = []

    def encode_peer() -> None:
        encoded.clear()
        for row in few:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            encoded.append(out.getvalue())

    def decode_peer() -> None:
        for data in encoded:
            fastavro.schemaless_reader(io.BytesIO(data), parsed, None)

    before = peak_mb()
    blocks = [hf.data_block(part, instant="20260101000000000", schema=schema) for part in parts]

    def encode_ours() -> None:
        for part in parts:
            hf.data_block(part, instant="20260101000000000", schema=schema)

    def decode_ours() -> None:
        for block in blocks:
            block.to_arrow()

    results = []
    for case, ours, peer in (("encode", encode_ours, encode_peer), ("decode", decode_ours, decode_peer)):
        speed = count / fastest(ours, rounds)
        results.append(Result(case, speed, len(few) / fastest(peer, rounds), peak_mb() - before))
    return results


def main() -> None:
    """Print a table of ratios; ``--json`` for programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = compare(arguments.rows, arguments.rounds)
    if arguments.json:
        print(json.dumps([asdict(result) | {"ratio": result.ratio} for result in results]))
        return
    print(f"{'case':8} {'hudiformat':>14} {'fastavro':>14} {'ratio':>8} {'peak':>10}")
    for result in results:
        print(
            f"{result.case:8} {result.ours:10,.0f} r/s {result.peer:10,.0f} r/s {result.ratio:7.1f}x "
            f"{result.peak_mb:7,.0f} MB"
        )


if __name__ == "__main__":
    main()
