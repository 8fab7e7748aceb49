"""Searches trees for a Tregex pattern of a client, in a process of its own.

A pattern may have a regular expression that takes exponential time, and Python cannot interrupt it. So the process is
killed when it takes too long.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from treecrf.search import Match, Pattern, PatternError
from treecrf.server.errors import ApiError
from treecrf.tree import Tree
from treecrf.treebank.penn_format import penn_format

_SECONDS = 10.0
_PATTERN_CHARACTERS = 1000
_MEMORY_BYTES = 1 << 30
_ANSWER_CHARACTERS = 10_000_000


def find_in_process(pattern: str, brackets: Sequence[str]) -> str:
    """CoreNLP's JSON for the matches of a pattern, searched in another process."""
    if not 0 < len(pattern) <= _PATTERN_CHARACTERS:
        raise ApiError(
            422, f"pattern has {len(pattern):,} characters; expected a Tregex pattern of 1 to {_PATTERN_CHARACTERS:,}"
        )
    try:
        process = subprocess.run(
            [sys.executable, "-m", "treecrf.server.tregex"],
            input=json.dumps({"pattern": pattern, "brackets": brackets}).encode(),
            stdout=subprocess.PIPE,
            timeout=_SECONDS,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each of its threads reserves memory
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise ApiError(422, f"the search took more than {_SECONDS:.0f} seconds; expected a simpler pattern") from None
    answer = json.loads(process.stdout)
    if "error" in answer:
        raise ApiError(422, f"pattern: {answer['error']}")
    return process.stdout.decode()


def find_pattern(pattern: str, brackets: Sequence[str]) -> dict[str, Any]:
    """CoreNLP's answer for the matches of a pattern: by sentence, then by the number of the match, or an error."""
    try:
        compiled = Pattern(pattern)
    except PatternError as error:
        return {"error": str(error)}
    sentences: list[dict[str, Any]] = []
    characters = 0
    for line in brackets:
        sentences.append({})
        for number, match in enumerate(compiled.find(Tree.parse(line))):
            fields = _match_fields(match)
            nodes = [text for node in fields["namedNodes"] for text in node.values()]
            characters += sum(map(len, (fields["match"], *nodes)))
            if characters > _ANSWER_CHARACTERS:
                return {"error": f"its matches have more than {_ANSWER_CHARACTERS:,} characters"}
            sentences[-1][str(number)] = fields
    return {"sentences": sentences}


def _match_fields(match: Match) -> dict[str, Any]:
    named_nodes = [{name: _node_text(node)} for name, node in match.names.items()]
    start, end = match.span
    return {
        "match": _node_text(match.node),
        "namedNodes": named_nodes,
        "spanString": " ".join(match.tree.words[start:end]),
    }


def _node_text(node: Tree | str) -> str:
    return (penn_format(node) if isinstance(node, Tree) else node) + "\n"


def _limit_memory() -> None:
    """Limits the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _limit_memory()
    request = json.load(sys.stdin)
    try:
        answer = json.dumps(find_pattern(request["pattern"], request["brackets"]))
    except MemoryError:
        answer = json.dumps({"error": "the search needs too much memory; expected a simpler pattern"})
    sys.stdout.write(answer)
