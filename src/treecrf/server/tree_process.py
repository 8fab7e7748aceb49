"""A process that searches and converts trees of clients, within limits on memory and on its answers.

A pattern may have a regular expression that takes exponential time, and Python cannot interrupt it. So the server kills
the process when it takes too long. Requests and answers are JSON, each after its length in four bytes.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

from treecrf import TreecrfError
from treecrf.server import limits
from treecrf.trees.notation import BracketError
from treecrf.trees.search import Forest, Pattern, PatternError
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.writer import penn_format

READY = b"ready"
LENGTH_BYTES = 4


def find_pattern(brackets: Sequence[str], pattern: str) -> Iterator[str]:
    """CoreNLP's answer for the matches of a pattern: by sentence, then by the number of the match."""
    program = Pattern(pattern)
    yield '{"sentences": ['
    for index, tree in enumerate(_read(brackets)):
        forest, words = Forest(tree), tree.words
        text_of = cache(partial(_node_text, forest))  # a node is often in many matches
        yield ", {" if index else "{"
        for number, match in enumerate(program.find(forest)):
            fields = {
                "match": text_of(match.position),
                "namedNodes": [{name: text_of(position)} for name, position in match.positions.items()],
                "spanString": " ".join(words[slice(*match.span)]),
            }
            yield f'{", " if number else ""}"{number}": {json.dumps(fields)}'
        yield "}"
    yield "]}"


def find_nodes(brackets: Sequence[str], pattern: str) -> Iterator[str]:
    """The nodes that a pattern matches, each once, as {"matches": [{"tree": ..., "label": ...}, ...]}."""
    program = Pattern(pattern)
    separator = '{"matches": ['
    for index, tree in enumerate(_read(brackets)):
        forest, words = Forest(tree), tree.words
        for position in dict.fromkeys(match.position for match in program.find(forest)):
            start, end = forest.words(position)
            label, text = forest.labels[forest.label_ids[position]], " ".join(words[start:end])
            yield separator + json.dumps({"tree": index, "start": start, "end": end, "label": label, "text": text})
            separator = ", "
    yield "]}" if separator == ", " else separator + "]}"


def write_conllu(brackets: Sequence[str], first: int) -> Iterator[str]:
    """The dependencies of the trees in CoNLL-U, as {"conllu": ...}; `first` is the number of the first sentence."""
    from treecrf.trees.dependencies import to_dependencies  # a process starts sooner without it

    yield '{"conllu": "'
    for number, tree in enumerate(_read(brackets), first):
        yield json.dumps(to_dependencies(tree).conllu(sentence_id=str(number)))[1:-1]
    yield '"}'


_FUNCTIONS: dict[str, Callable[..., Iterator[str]]] = {
    function.__name__: function for function in (find_pattern, find_nodes, write_conllu)
}


def answer(function: str, **values: Any) -> bytes:
    """The answer of a function with these values, or an error."""
    content = bytearray()
    try:
        for piece in _FUNCTIONS[function](**values):
            content += piece.encode()
            if len(content) > limits.SEARCH_ANSWER_BYTES:
                return _error(f"the answer has more than {limits.SEARCH_ANSWER_BYTES:,} bytes")
    except PatternError as error:
        return _error(f"pattern: {error}")
    except TreecrfError as error:
        return _error(str(error))
    return bytes(content)


def _error(message: str) -> bytes:
    return json.dumps({"error": message}).encode()


def _read(brackets: Sequence[str]) -> Iterator[Tree]:
    for index, text in enumerate(brackets):
        try:
            yield Tree.parse(text)
        except BracketError as error:
            raise TreecrfError(f"trees.{index}: {error}") from None


def _node_text(forest: Forest, position: int) -> str:
    node = forest.subtree(position)
    return (penn_format(node) if isinstance(node, Tree) else node) + "\n"


def write_block(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    stream.flush()


def run(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers requests until their end. An error of memory ends the process, because it may be damaged."""
    _limit_process()
    write_block(answers, READY)
    while length := requests.read(LENGTH_BYTES):
        request = json.loads(requests.read(int.from_bytes(length, "big")))
        if hasattr(signal, "setitimer"):  # a search also ends after a server that has crashed
            signal.setitimer(signal.ITIMER_PROF, 2 * limits.SEARCH_SECONDS)
        try:
            content = answer(**request)
        except MemoryError:  # without an answer, so that no other search gets this process
            return
        write_block(answers, content)


def _limit_process() -> None:
    """Limits the memory of this process, and lets the server go first on a busy processor, where the system can."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    size = 0
    with suppress(OSError):  # only Linux tells the size of the process
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    memory = size + limits.SEARCH_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(limits.SEARCH_NICENESS)


def main() -> None:
    run(sys.stdin.buffer, sys.stdout.buffer)
