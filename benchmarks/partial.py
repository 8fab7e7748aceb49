"""Dev F of parsers that learn from some brackets of all sentences, or from all brackets of some sentences.

    python benchmarks/partial.py FOLDER -o OUT --seeds 1,2,3
    python benchmarks/partial.py FOLDER -o OUT --shares 0.3,1 --small --sentences 500 --words 20 --epochs 10

FOLDER has train.mrg.gz and dev.mrg.gz. Brackets are drawn once for all seeds; every run has as many steps. The rows of
sentences are full trees with the paper's loss, and the rows of brackets have no full tree.
"""

import argparse
import json
import random
import statistics
from pathlib import Path

from treecrf.config import read_config
from treecrf.training import Recipe, fit
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

SMALL = ["model.word_size=50", "model.char_size=50", "model.lstm_size=100", "model.lstm_layers=1", "model.span_size=64"]
SMALL += ["model.label_size=32", "train.batch_words=500"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--shares", default="0.1,0.3,1", help="shares of brackets, and below 1 also of sentences")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--sentences", type=int, help="at most so many training sentences")
    parser.add_argument("--words", type=int, default=1000, help="only sentences of at most so many words")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--small", action="store_true", help="a small network, for a CPU")
    parser.add_argument("--device")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    parts = {part: short_trees(args.folder / f"{part}.mrg.gz", args.words) for part in ("train", "dev")}
    parts["train"] = random.Random(0).sample(parts["train"], min(args.sentences or 10**9, len(parts["train"])))
    write_trees(args.output / "dev.mrg", parts["dev"])
    print(f"{len(parts['train'])} training sentences, {len(parts['dev'])} dev sentences", flush=True)
    for share in map(float, args.shares.split(",")):
        rows = {"brackets": write_brackets(args.output, parts["train"], share)}
        if share < 1:
            rows["sentences"] = write_sentences(args.output, parts["train"], share)
        for name, settings in rows.items():
            scores = [dev_f(args, f"{name}-{share:g}", settings, int(seed)) for seed in args.seeds.split(",")]
            print(f"{share:.0%} of the {name}: dev F {statistics.fmean(scores):.2f} ({scores})", flush=True)


def short_trees(path: Path, words: int) -> list[Tree]:
    return [tree for tree in read_trees(path) if len(tree.words) <= words]


def write_brackets(folder: Path, trees: list[Tree], share: float) -> list[str]:
    """Writes a share of the brackets of all sentences; returns the settings of the run."""
    path, draw = folder / f"brackets-{share:g}.jsonl", random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for tree in trees:
            brackets = [span for span in tree.spans()[1:] if draw.random() < share]
            file.write(json.dumps({"words": tree.words, "require": brackets}) + "\n")
    return [f"data.partial={path}", f"data.partial_share={share}"]


def write_sentences(folder: Path, trees: list[Tree], share: float) -> list[str]:
    """Writes all brackets of a share of the sentences; an epoch has each of them more than once."""
    path = folder / f"sentences-{share:g}.mrg"
    count = round(share * len(trees))
    write_trees(path, trees[:count])
    return [f"data.train={path}", f"data.weights={len(trees) / count}"]


def dev_f(args: argparse.Namespace, name: str, settings: list[str], seed: int) -> float:
    common = [f"data.dev={args.output / 'dev.mrg'}", f"train.epochs={args.epochs}", f"train.seed={seed}"]
    recipe = args.output / "empty.toml"
    recipe.write_text("", encoding="utf-8")
    overrides = [*common, *(SMALL if args.small else []), *settings]
    result = fit(
        read_config(Recipe, recipe, overrides), args.output / f"{name}-{seed}", resume=True, device=args.device
    )
    return round(result.dev_f, 2)


if __name__ == "__main__":
    main()
