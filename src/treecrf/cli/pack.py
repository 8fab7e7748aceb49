"""`treecrf pack`: makes a small model with a model card from a training run, renews its card, or makes a package."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.corpus.options import check_minimum

if TYPE_CHECKING:
    from treecrf.parser.models.model_card import ModelCard, Purpose, TreebankInfo

    CardTexts = tuple[Purpose | None, dict[str, TreebankInfo] | None]

_TREEBANKS, _RECIPE, _DATA = "treebanks.toml", "recipe.toml", Path("data")
_PACKAGE_VERSION = "0.1.0"
_LARGEST_STEP = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="a training run; without OUT or with --package, also a model")
    add("out", type=Path, nargs="?", metavar="OUT", help="a folder with the model's name (default: renew RUN's card)")
    package_help = "make OUT the folder of a Python package for pip, treecrf-NAME (default: the name of OUT)"
    add("--package", nargs="?", const="", metavar="NAME", help=package_help)
    add("--package-version", metavar="V", help=f"version of the package (default: {_PACKAGE_VERSION})")
    add("--card", type=Path, metavar="FILE", help="TOML file with the text of the model card (default: no text)")
    treebanks_help = f"TOML file with the sources and licenses of treebanks (default: {_TREEBANKS} beside the card)"
    add("--treebanks", type=Path, metavar="FILE", help=treebanks_help)
    data_help = "folder with NAME/test.mrg.gz and NAME/FILE (default: data with --card, otherwise files of the recipe)"
    add("--data", type=Path, metavar="DIR", help=data_help)
    add("--vectors", type=int, metavar="N", help="pretrained vectors to keep for words outside the training data")
    step_help = (
        "round weights to multiples of S times the root mean square of their row; larger steps, such as 0.3, make the "
        "wheel smaller and the model less accurate (default: 0, which keeps 8 bits)"
    )
    add("--weight-step", type=float, metavar="S", help=step_help)
    add("--commit", metavar="ID", help="the commit that trained the model (default: the commit of the checkout)")
    only_help = "compare only the device's precision with float32; the scores come when the card is renewed"
    add("--only-precisions", action="store_true", help=only_help)
    add("--device", metavar="D", help="device for the scoring: cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    from treecrf.training.export.card_files import to_markdown

    purpose, treebanks = texts = _read_texts(args)
    _check(args)
    if args.package is not None:
        _make_package(args, texts)
    elif args.out is not None:
        print(to_markdown(_pack(args, args.out, texts)), end="")
    elif purpose is None or treebanks is None:
        raise ValueError("there is no OUT and no --card; name the folder of the model, or a text for its card")
    else:
        from treecrf.training.export.pack import renew_card

        card = renew_card(args.run_folder, purpose, treebanks, data=args.data or _DATA, device=args.device)
        print(to_markdown(card), end="")


def _check(args: argparse.Namespace) -> None:
    is_run = (args.run_folder / _RECIPE).is_file()
    if args.package is not None and args.out is None:
        raise ValueError("--package needs a folder for the package: treecrf pack RUN OUT --package")
    if args.package is None and args.package_version is not None:
        raise ValueError("--package-version is the version of a package; add --package")
    if args.package is None and args.out is not None and not is_run:
        raise FileNotFoundError(f"there is no training run in {args.run_folder}; expected a folder with {_RECIPE}")
    check_minimum(args, vectors=0)
    if args.weight_step is not None and not 0 <= args.weight_step <= _LARGEST_STEP:
        raise ValueError(f"--weight-step is {args.weight_step:g}; expected 0 to {_LARGEST_STEP:g}")
    if args.out is None and any(value is not None for value in (args.vectors, args.weight_step, args.commit)):
        raise ValueError("--vectors, --weight-step and --commit are for a model that is packed; name its folder OUT")
    if args.only_precisions and not (is_run and args.out):
        raise ValueError("--only-precisions is for a training run; a card is renewed with all measurements")
    if args.package is not None and not is_run:
        for name in ("vectors", "weight_step", "commit", "data", "device"):
            if getattr(args, name) is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} is for a training run, and {args.run_folder} has no {_RECIPE}; a "
                    "model is put into a package as it is"
                )


def _pack(args: argparse.Namespace, folder: Path, texts: "CardTexts") -> "ModelCard":
    from treecrf.training.export.pack import pack_model

    return pack_model(
        args.run_folder,
        folder,
        *texts,
        data=_DATA if args.data is None and args.card is not None else args.data,
        vectors=args.vectors,
        weight_step=args.weight_step or 0.0,
        commit=args.commit,
        device=args.device,
        only_precisions=args.only_precisions,
    )


def _make_package(args: argparse.Namespace, texts: "CardTexts") -> None:
    from treecrf.training.export.package import PackageNames, copy_model, new_package

    name, version = args.package or args.out.resolve().name, args.package_version or _PACKAGE_VERSION
    names = PackageNames(name=name, version=version)
    with new_package(args.out, names) as package:
        folder = names.model_folder(package)
        if (args.run_folder / _RECIPE).is_file():
            _pack(args, folder, texts)
        else:
            copy_model(args.run_folder, folder, *texts)
    path = shlex.quote(str(args.out.absolute()))  # pip reads a name without a slash as the name of a package
    print(f"The package {names.name} {names.version} is in {args.out}. To install it: pip install {path}")


def _read_texts(args: argparse.Namespace) -> "CardTexts":
    """The text of the card and the descriptions of treebanks; None without a file."""
    from treecrf.config import read_config
    from treecrf.parser.models.model_card import Purpose, read_treebanks

    treebanks_file = args.treebanks or (args.card and args.card.with_name(_TREEBANKS))
    for path, content in ((args.card, "the text of the model card"), (treebanks_file, "the sources of treebanks")):
        if path is not None and not path.is_file():
            raise FileNotFoundError(f"there is no file {path}; expected a TOML file with {content}")
    purpose = None if args.card is None else read_config(Purpose, args.card)
    return purpose, None if treebanks_file is None else read_treebanks(treebanks_file)
