"""What the rules say of the file groups of a lane, and which of them takes its next new rows."""

from __future__ import annotations

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION, NOBODY
from hudiformat.simulation.rates import FAR
from hudiformat.simulation.settings import Engine, Settings
from hudiformat.simulation.start import Start
from hudiformat.simulation.workload import Spread, Workload
from hudiformat.sizing.flink import FlinkAssigner, Profile, Task
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import RecordSize
from hudiformat.sizing.small_files import GroupVerdict, Verdict, flink_small_files, spark_small_files
from hudiformat.sizing.spark import room_for_records


def new_board(load: Workload, settings: Settings, *, seed: int, start: Start | None = None) -> Board:
    """Return the table that a workload begins with: an empty one, or that of *start*."""
    by_day = start is None and load.partitions.spread == Spread.BY_DAY
    board = Board(load, settings, seed=seed, days=load.days() if by_day else None)
    if start is not None:
        _begin_with(board, start)
    elif not by_day:
        count = load.partitions.count
        paths = [""] if count == 1 else [f"p={number:05}" for number in range(count)]
        board.open_lanes(paths, load.partitions.shares().tolist())
    return board


def _begin_with(board: Board, start: Start) -> None:
    """Take over the partitions, file groups and counts of a table."""
    board.rings = dict(start.rings)
    board.open_lanes(list(start.paths), start.shares.tolist())
    board.recent.add(list(start.recent))
    board.deltas, board.since_clustering = start.deltas, start.since_clustering
    number_of = {path: number for number, path in enumerate(start.paths)}
    parts, tasks = board.settings.lanes, Parallelism.of(max(board.settings.lanes, 1))
    buckets = {file_id: int(board.groups["lane"][number]) for number, file_id in board.groups.ids.items()}
    for one in start.groups:
        if board.settings.resizes:
            if one.file_id not in buckets:
                raise UnsupportedFeatureError(
                    f"cannot simulate: expected file groups of the buckets of partition {one.path!r}, found "
                    f"{one.file_id}; run hudiformat verify, or simulate an empty table",
                    feature="simulation of a table whose file groups are not its buckets",
                )
            values = {"fixed": one.base_bytes, "given": one.rows, "has_base": int(one.base_bytes > 0)}
            logs = {"updated": one.log_bytes << FRACTION, "log_files": one.log_files}
            _add_to_buckets(board, buckets[one.file_id], {**values, **logs})
            continue
        lane = number_of[one.path] * parts + (tasks.owner(one.file_id) if parts > 1 else 0)
        values = {"lane": lane, "fixed": one.base_bytes, "given": one.rows, "has_base": int(one.base_bytes > 0)}
        logs = {"updated": one.log_bytes << FRACTION, "log_files": one.log_files}
        if board.settings.has_buckets:
            _add_to_buckets(board, lane, {**values, **logs})
            continue
        number = board.groups.add(one.file_id, **values, **logs)
        board.open_groups[lane].append(number)
    if not board.settings.has_buckets:
        average = RecordSize(board.sizing.record_size_estimate).size
        for lane in range(len(board.lanes["target"])):
            choose_target(board, lane, average)


def _add_to_buckets(board: Board, lane: int, values: dict[str, int]) -> None:
    item = int(board.lanes["target"][lane])
    for name, value in values.items():
        if name not in ("lane", "has_base"):
            board.groups[name][item] += value
    board.groups["has_base"][item] |= values["has_base"]


def verdicts(board: Board, lane: int) -> tuple[GroupVerdict, ...]:
    """Return what the rules say of the open file groups of a lane, and close those that will not be small again."""
    groups = board.groups
    slices = groups.slices_of(board.open_groups[lane], board.path_of(lane))
    small_files = flink_small_files if board.settings.uses_flink else spark_small_files
    found = small_files(slices, board.kind, board.sizing)
    closed = {one.file_id for one in found if one.verdict is Verdict.TOO_LARGE}
    if closed:
        board.open_groups[lane] = [number for number in board.open_groups[lane] if groups.ids[number] not in closed]
    return found


def numbers_of(board: Board, lane: int) -> dict[str, int]:
    """Return the numbers of the open file groups of a lane by their file ids."""
    return {board.groups.ids[number]: number for number in board.open_groups[lane]}


def assigner(board: Board, lane: int, found: tuple[GroupVerdict, ...], average: int) -> FlinkAssigner:
    """Return the assigner of a Flink task for the next commit; Hudi's remembers new groups until the second."""
    known = board.assigners.get(lane)
    profile = Profile(lambda _path: found, RecordSize(average))
    if known is None or board.settings.engine is not Engine.FLINK:
        parts = board.settings.lanes
        task = Task(int(board.lanes["task"][lane]), parts, Parallelism.of(parts).key_groups)
        known = board.assigners[lane] = FlinkAssigner(profile, board.sizing, board.new_id, task)
    else:
        known.end_commit(profile)
    known.begin_commit()
    return known


def choose_target(board: Board, lane: int, average: int) -> None:
    """Find the file group of a lane that takes the next new rows, and what could come before it."""
    if board.settings.has_buckets:
        return
    lanes = board.lanes
    lanes["target"][lane], lanes["spare"][lane], lanes["following"][lane] = NOBODY, 0, FAR
    if board.settings.opens_always:
        return
    found = verdicts(board, lane)
    lanes["hidden"][lane] = sum(one.verdict is Verdict.HAS_LOGS for one in found)
    candidates = [one for one in found if one.is_candidate]
    number_of = numbers_of(board, lane)
    for place, one in enumerate(candidates):
        if room_for_records(one, RecordSize(average), board.sizing):
            lanes["target"][lane] = number_of[one.file_id]
            others = [*candidates[place + 1 :], *(o for o in found if o.verdict is Verdict.OVER_LIMIT)]
            lanes["following"][lane] = min((other.size for other in others), default=FAR)
            return
        lanes["spare"][lane] = max(lanes["spare"][lane], board.sizing.max_file_size - one.size)
