"""`treecrf annotate`: a web page on which people correct the trees of a corpus."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecrf.cli.serve import add_server_arguments, run_server
from treecrf.corpus.inputs import split_words
from treecrf.corpus.terminal import print_message

if TYPE_CHECKING:
    from fastapi import FastAPI

    from treecrf.corpus.annotation.project import Project
    from treecrf.parser import Parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("corpus", nargs="?", type=Path, help="raw text, or trees (.mrg); may be left out when OUT exists")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="folder of the annotation; continues if it exists",
    )
    add_corpus_arguments(parser)
    add("--annotator", default="annotator", metavar="NAME", help="name of the annotator (default: %(default)s)")
    learn_help = "after every 10 finished sentences, adapt the model to them in the background, and offer the result"
    add("--learn", action="store_true", help=learn_help)
    add_server_arguments(parser)


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", default="en", metavar="M", help="an installed model, or a folder (default: %(default)s)")
    add("--field", metavar="F", help="field of CSV, TSV, JSON lines or Parquet with the text (default: text)")
    add("--tokens", action="store_true", help="a line is one sentence, with spaces between its words")


def run(args: argparse.Namespace) -> None:
    def create(create_app: "Callable[..., FastAPI]", **settings: Any) -> "FastAPI":
        from treecrf.corpus.annotation.session import AnnotationSession
        from treecrf.parser.scorers import require_torch
        from treecrf.server.models import load_parsers

        if args.learn:
            require_torch("--learn")
        parsers = load_parsers([args.model], args.device)
        (parser,) = parsers.values()
        max_words = settings["limits"].words
        project = _open_project(args, parser, max_words)
        model = args.model if args.learn else None
        session = AnnotationSession(parser, project, default_annotator=args.annotator, max_words=max_words, model=model)
        return create_app(parsers, annotation=session, **settings)

    run_server(args, create)


def _open_project(args: argparse.Namespace, parser: "Parser", max_words: int) -> "Project":
    from treecrf.corpus.annotation.project import Project, check_name

    if args.output.exists() and not args.output.is_dir():
        raise ValueError(f"{args.output} is a file; expected a folder, new or of an earlier annotation")
    if parser.reader.needs_tags:
        raise ValueError(
            f"the model {args.model} reads tags, and the corpus has none; choose a model that predicts tags"
        )
    check_name(args.annotator)
    sentences: list[list[str]] = []
    if args.corpus:
        sentences += read_corpus(args.corpus, parser, has_words=args.tokens, field=args.field)
    _check_lengths(sentences, max_words)
    project = Project(args.output, sentences, warn=partial(print_message, "treecrf annotate"))
    _check_lengths(project.sentences, max_words)
    return project


def _check_lengths(sentences: Sequence[Sequence[str]], max_words: int) -> None:
    for number, words in enumerate(sentences, 1):
        if len(words) > max_words:
            raise ValueError(
                f"sentence {number} has {len(words)} words ({' '.join(words[:8])} ...); expected at most {max_words}; "
                "split it in the corpus, or raise --max-words"
            )


def read_corpus(path: str | Path, parser: "Parser", *, has_words: bool, field: str | None) -> Iterator[list[str]]:
    """The words of each sentence of a file."""
    from treecrf.corpus.records import holds_trees, read_document
    from treecrf.trees.treebank import read_trees

    if holds_trees(path):
        yield from (tree.words for tree in read_trees(path))
        return
    text = read_document(path, field)
    if has_words:
        yield from ([str(word) for word in words] for line in text.splitlines() for words in split_words(line))
    else:
        yield from ([token.tree_word for token in tokens] for tokens in parser.split_text(text))
