"""`treecrf serve`: parses over HTTP, and a page to see them."""

import argparse
import os
from dataclasses import fields
from pathlib import Path

from treecrf.server.limits import Limits

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_TOKEN = "TREECRF_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf serve`."""
    add = parser.add_argument
    add(
        "--host", default="127.0.0.1", metavar="H", help="the address to listen at (default: %(default)s, this machine)"
    )
    add("--port", type=int, default=8000, metavar="P", help="the port; 0 takes a free one (default: %(default)s)")
    add(
        "--model",
        nargs="+",
        default=["en"],
        metavar="M",
        help="models that came with treecrf, or folders (default: en)",
    )
    add("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")
    add("--token", metavar="T", help="answer only who has this token; other users of the machine may see it here")
    add(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"answer only who has the token in FILE; without it, in the environment variable {_TOKEN}",
    )
    add("--allow-host", nargs="+", default=[], metavar="NAME", help="names by which clients call this server")
    limits = parser.add_argument_group("limits")
    for limit in fields(Limits):
        limits.add_argument(
            f"--max-{limit.name.replace('_', '-')}",
            type=type(limit.default),
            default=limit.default,
            metavar="N",
            help=f"{limit.metadata['about']} (default: %(default)s)",
        )


def run(args: argparse.Namespace) -> None:
    """Load the models and serve until a signal ends it."""
    limits = Limits(**{limit.name: getattr(args, f"max_{limit.name}") for limit in fields(Limits)})
    token = _token(args)
    try:
        from treecrf.server.app import create_app
        from treecrf.server.process import serve
    except ImportError as error:
        raise ValueError(f"{error}; the server needs pip install 'treecrf[server]'") from error
    from treecrf.server.models import load_parsers

    is_local = args.host in ("localhost", "127.0.0.1", "::1")
    hosts = [*args.allow_host, *_LOCAL] if is_local or args.allow_host else []
    app = create_app(load_parsers(args.model, args.device), limits=limits, token=token, hosts=hosts)
    serve(app, host=args.host, port=args.port)


def _token(args: argparse.Namespace) -> str | None:
    if args.token is not None and args.token_file:
        raise ValueError("both --token and --token-file; expected one of them")
    token: str | None = os.environ.get(_TOKEN) if args.token is None else args.token
    if args.token_file:
        token = args.token_file.read_text(encoding="utf-8").strip()
    if token is not None and not token.strip():
        raise ValueError(f"the token of --token, --token-file or {_TOKEN} is empty; expected some characters")
    return token
