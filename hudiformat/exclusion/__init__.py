"""How writers keep out of each other's way: locks, and heartbeats that say who is alive."""

from hudiformat.exclusion.delayed import Delayed
from hudiformat.exclusion.heartbeats import Heartbeat, forget, is_of_ended_process, living
from hudiformat.exclusion.locks import held, lock_of

__all__ = ["Delayed", "Heartbeat", "forget", "held", "is_of_ended_process", "living", "lock_of"]
