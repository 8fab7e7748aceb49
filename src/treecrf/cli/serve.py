"""`treecrf serve`: the HTTP server and its web page."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecrf.corpus.options import OptionError, add_options, read_options
from treecrf.server.limits import Limits
from treecrf.server.memory import restart_with_system_allocator

if TYPE_CHECKING:
    from fastapi import FastAPI

_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_MAX_PORT = 65535
_TOKEN_VARIABLE = "TREECRF_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", nargs="+", default=["en"], metavar="M", help="names of installed models, or folders (default: en)")
    add("--corenlp", action="store_true", help="also answer clients of Stanford's CoreNLP server")
    add_server_arguments(parser)


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of every command that starts a server."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="H", help="address to listen on (default: %(default)s, local only)")
    add("--port", metavar="P", help="port to listen on; 0: a free port (default: 8000, or 9000 with serve --corenlp)")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    token_help = "require this token from clients; other users of this machine can see it in the process list"
    add("--token", metavar="T", help=token_help)
    file_help = f"require the token in FILE from clients (default: the environment variable {_TOKEN_VARIABLE}, if set)"
    add("--token-file", type=Path, metavar="FILE", help=file_help)
    host_help = "accept only requests whose Host header is one of these names or a local name"
    add("--allow-host", nargs="+", default=[], metavar="NAME", help=host_help)
    add("--open", action="store_true", help="open the web page in a browser")
    log_help = "format of the log on standard error (default: text on a terminal, otherwise json)"
    add("--log-format", choices=("text", "json"), help=log_help)
    add_options(parser.add_argument_group("limits"), Limits, prefix="max_")


def _read_port(args: argparse.Namespace) -> int:
    text: str = args.port or ("9000" if getattr(args, "corenlp", False) else "8000")
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise OptionError(f"--port is {text}; expected a number from 0 to {_MAX_PORT}")
    return int(text)


def run(args: argparse.Namespace) -> None:
    def create(create_app: "Callable[..., FastAPI]", **settings: Any) -> "FastAPI":
        from treecrf.server.models import load_parsers

        return create_app(load_parsers(args.model, args.device), corenlp=args.corenlp, **settings)

    run_server(args, create)


def run_server(args: argparse.Namespace, create: "Callable[..., FastAPI]") -> None:
    """Serves the app that `create` makes by `create_app` with limits, token and hosts, until it is stopped."""
    limits = read_options(args, Limits, prefix="max_")
    token, port = _read_token(args), _read_port(args)
    restart_with_system_allocator()
    try:
        from treecrf.server.app import create_app
        from treecrf.server.process import serve
    except ImportError as error:
        raise ValueError(f"{error}; the server needs pip install 'treecrf[server]'") from error
    is_local = args.host in ("localhost", "127.0.0.1", "::1")
    hosts = [*args.allow_host, *_LOCAL_NAMES] if is_local or args.allow_host else []
    app = create(create_app, limits=limits, token=token, hosts=hosts)
    log_format = args.log_format or ("text" if sys.stderr.isatty() else "json")
    serve(app, host=args.host, port=port, log_format=log_format, opens_browser=args.open)


def _read_token(args: argparse.Namespace) -> str | None:
    if args.token is not None and args.token_file:
        raise ValueError("--token and --token-file are both given; expected one of them")
    token: str | None = os.environ.get(_TOKEN_VARIABLE) if args.token is None else args.token
    if args.token_file:
        token = args.token_file.read_text(encoding="utf-8").strip()
    if token is not None and not token.strip():
        raise ValueError(
            f"the token in --token, --token-file or {_TOKEN_VARIABLE} is empty; expected a non-empty token"
        )
    return token
