"""A search process: searches trees for Tregex patterns of clients, within limits on memory and on its answers.

A pattern may have a regular expression that takes exponential time, and Python cannot interrupt it. So the server kills
the process when it takes too long. Requests and answers are JSON, each after its length in four bytes.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import IO

from treecrf.server import limits
from treecrf.trees.search import Forest, Pattern, PatternError
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.writer import penn_format

READY = b"ready"
LENGTH_BYTES = 4
_MEMORY_ERROR = b'{"error": "the search needs too much memory; expected a simpler pattern"}'


def find_pattern(pattern: str, brackets: Sequence[str]) -> bytes:
    """CoreNLP's answer for the matches of a pattern: by sentence, then by the number of the match, or an error."""
    answer = bytearray(b'{"sentences": [')
    try:
        for piece in _pieces(Pattern(pattern), brackets):
            answer += piece.encode()
            if len(answer) > limits.SEARCH_ANSWER_BYTES:
                message = f"its matches have more than {limits.SEARCH_ANSWER_BYTES:,} bytes"
                return json.dumps({"error": message}).encode()
    except PatternError as error:
        return json.dumps({"error": str(error)}).encode()
    return bytes(answer + b"]}")


def _pieces(pattern: Pattern, brackets: Sequence[str]) -> Iterator[str]:
    """The JSON of each match, between the brackets of its sentence."""
    for index, line in enumerate(brackets):
        tree = Tree.parse(line)
        forest, words = Forest(tree), tree.words
        text_of = cache(partial(_node_text, forest))  # a node is often in many matches
        yield ", {" if index else "{"
        for number, match in enumerate(pattern.find(forest)):
            fields = {
                "match": text_of(match.position),
                "namedNodes": [{name: text_of(position)} for name, position in match.positions.items()],
                "spanString": " ".join(words[slice(*match.span)]),
            }
            yield f'{", " if number else ""}"{number}": {json.dumps(fields)}'
        yield "}"


def _node_text(forest: Forest, position: int) -> str:
    node = forest.subtree(position)
    return (penn_format(node) if isinstance(node, Tree) else node) + "\n"


def write_block(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    stream.flush()


def run(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers requests until their end. After an error of memory the process ends, because it may be damaged."""
    _limit_process()
    write_block(answers, READY)
    while length := requests.read(LENGTH_BYTES):
        request = json.loads(requests.read(int.from_bytes(length, "big")))
        if hasattr(signal, "setitimer"):  # a search also ends after a server that has crashed
            signal.setitimer(signal.ITIMER_PROF, 2 * limits.SEARCH_SECONDS)
        try:
            write_block(answers, find_pattern(request["pattern"], request["brackets"]))
        except MemoryError:
            write_block(answers, _MEMORY_ERROR)
            return


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
