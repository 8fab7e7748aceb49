"""Options of `treecrf parse --engine ray`."""

from dataclasses import dataclass

from treecrf.corpus.shards import SHARD_STEP


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of `treecrf parse --engine ray`: the cluster, its workers and the shards."""

    address: str | None = None  # None: RAY_ADDRESS, or this machine
    device: str | None = None  # None: cuda if the cluster has GPUs
    workers: int | None = None  # None: as many as fit
    cpus_per_worker: int = 1
    gpus_per_worker: float = 1.0
    cpu_workers: int = 0  # additional workers that use the CPU
    shard_lines: int | None = None
    retries: int = 3

    def __post_init__(self) -> None:
        if self.shard_lines is not None and (self.shard_lines < 1 or self.shard_lines % SHARD_STEP):
            raise ValueError(f"--shard-lines is {self.shard_lines:,}; expected a multiple of {SHARD_STEP:,}")
        if self.device not in (None, "cpu", "cuda"):
            raise ValueError(f"--device is {self.device}; expected cpu or cuda, because Ray assigns the GPUs")
        for name, minimum in (("workers", 1), ("cpus_per_worker", 1), ("cpu_workers", 0), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise ValueError(f"--{name.replace('_', '-')} is {value}; expected {minimum} or more")
        if not 0 < self.gpus_per_worker <= 1:
            raise ValueError(f"--gpus-per-worker is {self.gpus_per_worker}; expected more than 0 and at most 1")
