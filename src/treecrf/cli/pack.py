"""`treecrf pack`: a training run in, a small model with a card out."""

import argparse
from pathlib import Path

_TREEBANKS = "treebanks.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf pack`."""
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="the folder of a training run")
    add("out", type=Path, metavar="OUT", help="the model's folder, named as the model is")
    add("--card", type=Path, required=True, metavar="FILE", help="what the card says that cannot be measured, as TOML")
    add(
        "--treebanks",
        type=Path,
        metavar="FILE",
        help=f"the sources and licences of treebanks, as TOML (default: {_TREEBANKS} beside the card)",
    )
    add("--data", type=Path, default="data", metavar="DIR", help="where NAME/test.mrg.gz are found (default: data)")
    add("--vectors", type=int, metavar="N", help="keep the first N pretrained vectors of words not in training")
    add("--commit", metavar="ID", help="the commit that trained it (default: the checkout's)")
    add("--device", metavar="D", help="where it is scored: cpu, cuda, ...; a GPU if there is one")


def run(args: argparse.Namespace) -> None:
    """Pack a model, score it, and print its card."""
    from treecrf.config import read_config
    from treecrf.export.model_card import Purpose, read_treebanks, to_markdown
    from treecrf.export.pack import pack_model

    if args.vectors is not None and args.vectors < 0:
        raise ValueError(f"--vectors is {args.vectors}; expected 0 or more")
    card = pack_model(
        args.run_folder,
        args.out,
        read_config(Purpose, args.card),
        read_treebanks(args.treebanks or args.card.with_name(_TREEBANKS)),
        data=args.data,
        vectors=args.vectors,
        commit=args.commit,
        device=args.device,
    )
    print(to_markdown(card), end="")
