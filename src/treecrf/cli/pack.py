"""`treecrf pack`: makes a small model with a model card from a training run, or renews the card of such a model."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecrf.export.model_card import Purpose, TreebankInfo

_TREEBANKS, _RECIPE, _DATA = "treebanks.toml", "recipe.toml", Path("data")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf pack`."""
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="the folder of a training run, or without OUT, a packed model")
    add(
        "out",
        type=Path,
        nargs="?",
        metavar="OUT",
        help="the folder of the model; its name is the name of the model (default: only renew the card of RUN)",
    )
    add("--card", type=Path, metavar="FILE", help="TOML file with the text of the model card (default: no text)")
    add(
        "--treebanks",
        type=Path,
        metavar="FILE",
        help=f"TOML file with the sources and licenses of treebanks (default: {_TREEBANKS} beside the card)",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with NAME/test.mrg.gz and the training files NAME/FILE (default: data with --card, otherwise the "
        "files of the run's recipe)",
    )
    add(
        "--vectors",
        type=int,
        metavar="N",
        help="number of pretrained vectors to keep for words that are not in the training data",
    )
    add("--commit", metavar="ID", help="the commit that trained the model (default: that of the checkout)")
    add("--device", metavar="D", help="device for the scoring: cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    """Packs a model, scores it and prints its model card."""
    from treecrf.export.model_card import to_markdown
    from treecrf.export.pack import pack_model, renew_card

    purpose, treebanks = _read_texts(args)
    if args.out is not None and not (args.run_folder / _RECIPE).is_file():
        raise FileNotFoundError(f"there is no training run in {args.run_folder}; expected a folder with {_RECIPE}")
    if args.vectors is not None and args.vectors < 0:
        raise ValueError(f"--vectors is {args.vectors}; expected 0 or more")
    data = _DATA if args.data is None and args.card is not None else args.data
    if args.out is None:
        if args.vectors is not None or args.commit is not None:
            raise ValueError("--vectors and --commit are for a model that is packed; name its folder OUT")
        if purpose is None or treebanks is None:
            raise ValueError("there is no OUT and no --card; name the folder of the model, or a text for its card")
        card = renew_card(args.run_folder, purpose, treebanks, data=data, device=args.device)
    else:
        card = pack_model(
            args.run_folder,
            args.out,
            purpose,
            treebanks,
            data=data,
            vectors=args.vectors,
            commit=args.commit,
            device=args.device,
        )
    print(to_markdown(card), end="")


def _read_texts(args: argparse.Namespace) -> "tuple[Purpose | None, dict[str, TreebankInfo] | None]":
    """The text of the card and the descriptions of treebanks; None without a file."""
    from treecrf.config import read_config
    from treecrf.export.model_card import Purpose, read_treebanks

    treebanks_file = args.treebanks or (args.card and args.card.with_name(_TREEBANKS))
    for path, content in ((args.card, "the text of the model card"), (treebanks_file, "the sources of treebanks")):
        if path is not None and not path.is_file():
            raise FileNotFoundError(f"there is no file {path}; expected a TOML file with {content}")
    purpose = None if args.card is None else read_config(Purpose, args.card)
    return purpose, None if treebanks_file is None else read_treebanks(treebanks_file)
