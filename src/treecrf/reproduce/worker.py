"""One run in a process of its own: a parser is trained, and parses dev and test.

    python -m treecrf.reproduce.worker RECIPE.toml FOLDER [DEVICE]

It ends with whoever started it: standard input is held open by that process, and closes with it. That is watched from
the first moment on, so everything heavy is imported later.
"""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecrf.parser import Parser
    from treecrf.training import Progress, Recipe

OUTCOME = "outcome.json"


def predictions(folder: Path, part: str, *, mbr: bool = True) -> Path:
    """The file of the trees that a run found in a part."""
    return folder / f"{part}{'' if mbr else '-no-mbr'}.mrg"


def work(recipe: "Recipe", folder: Path, device: str | None) -> None:
    """Train, or go on with training; then parse dev and test, with MBR and without."""
    from treecrf.atomic_io import write_file
    from treecrf.parser import Parser
    from treecrf.training import fit
    from treecrf.training.setup import TreebankPart
    from treecrf.treebank import write_trees

    outcome = fit(recipe, folder, resume=True, device=device, watch=_tell)
    parser = Parser.load(folder, device, precision="float32")
    for part, paths in (("dev", recipe.data.dev), ("test", recipe.data.test)):
        trees = TreebankPart.read(paths, f"data.{part}").trees
        tags = None if parser.model.config.tag_head else [tree.tags for tree in trees]
        for mbr in (True, False):
            found = parser.parse_many([tree.words for tree in trees], tags=tags, mbr=mbr)
            write_trees(predictions(folder, part, mbr=mbr), found)
    facts = {"best_epoch": outcome.best_epoch, "dev_f": outcome.dev_f, "device": _device_name(parser)}
    write_file(folder / OUTCOME, json.dumps(facts, indent=1).encode())


def _tell(progress: "Progress") -> None:
    record = progress.record or {}
    if record.get("event") == "epoch":
        print(f"epoch {record['epoch']}  loss {record['loss']:.4f}  dev F {record['dev_f']:.2f}", flush=True)


def _device_name(parser: "Parser") -> str:
    import torch

    return torch.cuda.get_device_name(parser.device) if parser.device.type == "cuda" else "CPU"


def _end_with_parent() -> None:
    while os.read(0, 1):  # not by way of sys.stdin, which a thread must not hold when Python ends
        pass
    os._exit(1)


def main() -> None:
    """Do the work that the command line names."""
    logging.basicConfig(format="%(message)s")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    source, folder, *device = sys.argv[1:]

    from treecrf.config import read_config
    from treecrf.training import Recipe

    try:
        work(read_config(Recipe, source), Path(folder), device[0] if device else None)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
