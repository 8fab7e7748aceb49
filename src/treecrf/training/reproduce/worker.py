"""The worker process of one run: trains a parser, and parses dev and test.

    python -m treecrf.training.reproduce.worker RECIPE.toml FOLDER [DEVICE]

The process ends with its parent, which holds its standard input open. It watches standard input from the start, so
slow imports come later.
"""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecrf.training import Progress, Recipe

OUTCOME = "outcome.json"  # exists if the run is finished


def predictions_path(folder: Path, part: str, *, mbr: bool = True) -> Path:
    """Returns the file of the trees that a run has predicted for a part of the treebank."""
    return folder / f"{part}{'' if mbr else '-no-mbr'}.mrg"


def train_and_parse(recipe: "Recipe", folder: Path, device: str | None) -> None:
    """Trains a parser, or resumes its training, and then parses dev and test with and without MBR."""
    import torch

    from treecrf.files import write_file
    from treecrf.parser import Parser
    from treecrf.parser.evaluate import predict_trees
    from treecrf.training import fit
    from treecrf.training.setup import TreebankPart
    from treecrf.trees.treebank import write_trees

    result = fit(recipe, folder, resume=True, device=device, watch=_print_epoch)
    parser = Parser.load(folder, device, precision="float32")
    for part, paths in (("dev", recipe.data.dev), ("test", recipe.data.test)):
        trees = TreebankPart.read(paths, f"data.{part}").trees
        for mbr in (True, False):
            write_trees(predictions_path(folder, part, mbr=mbr), predict_trees(parser, trees, mbr=mbr))
    device_name = "CPU" if parser.device == "cpu" else torch.cuda.get_device_name(parser.device)
    outcome = {"best_epoch": result.best_epoch, "dev_f": result.dev_f, "device": device_name}
    write_file(folder / OUTCOME, json.dumps(outcome, indent=1).encode())


def _print_epoch(progress: "Progress") -> None:
    record = progress.record or {}
    if record.get("event") == "epoch":
        print(f"epoch {record['epoch']}  loss {record['loss']:.4f}  dev F {record['dev_f']:.2f}", flush=True)


def _exit_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin: a thread that waits for it would block Python's exit
        pass
    os._exit(1)


def main() -> None:
    """Runs the worker with the arguments of the command line."""
    logging.basicConfig(format="%(message)s")
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    source, folder, *device = sys.argv[1:]

    from treecrf.config import read_config
    from treecrf.training import Recipe

    try:
        train_and_parse(read_config(Recipe, source), Path(folder), device[0] if device else None)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
