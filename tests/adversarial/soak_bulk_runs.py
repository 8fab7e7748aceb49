"""Many hostile runs of `treecrf parse` and `treecrf train`, in random order: `make soak`.

    python tests/adversarial/soak_bulk_runs.py [--kills 100] [--pairs 50] [--changes 50] [--seed 1]

A tenth or a little more of the cases uses Ray, three tenths train, and the others parse. A failed case prints its seed.
"""

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import bulk_runs

_WEIGHTS = (6, 3, 1, 1)
_KILLS = 5  # at most, per case
_KILLED = (bulk_runs.kill_parse, bulk_runs.kill_train, bulk_runs.kill_ray, bulk_runs.kill_ray_workers)
_KINDS: dict[str, list[Callable[..., Any]]] = {
    "kills": [partial(case, kills=_KILLS) for case in _KILLED],
    "pairs": [bulk_runs.concurrent_parse, bulk_runs.concurrent_train, bulk_runs.concurrent_ray],
    "changes": [bulk_runs.changed_parse, bulk_runs.changed_train, bulk_runs.changed_ray],
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs hostile cases of parsing and training.")
    for name, default in (("kills", 100), ("pairs", 50), ("changes", 50), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    generator, failures, started = random.Random(args.seed), 0, time.monotonic()
    for name, kinds in _KINDS.items():
        count = 0
        while count < getattr(args, name):
            (case,), seed = generator.choices(kinds, _WEIGHTS[: len(kinds)]), generator.randrange(1 << 32)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    result = case(Path(folder), random.Random(seed))
                except Exception:
                    if "Ray cannot start" in traceback.format_exc():
                        print(f"{count} {name}: not counted, because Ray cannot start on this busy machine", flush=True)
                        continue
                    failures += 1
                    result = f"failed, seed {seed}\n{traceback.format_exc()}"
            count += result if isinstance(result, int) else 1
            kind = getattr(case, "func", case).__name__
            print(f"{count} {name}: {kind}: {result}", flush=True)
    print(f"{failures} failures, {time.monotonic() - started:,.0f} s")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
