"""Searches trees for a Tregex pattern of a client, in a process of its own.

A pattern may have a regular expression that takes exponential time, and Python cannot interrupt it. So the process is
killed when it takes too long.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from treecrf.server import limits
from treecrf.server.errors import ApiError
from treecrf.trees.search import Match, Pattern, PatternError
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.writer import penn_format


async def find_in_process(pattern: str, brackets: Sequence[str]) -> bytes:
    """CoreNLP's JSON for the matches of a pattern, searched in another process."""
    if not 0 < len(pattern) <= limits.PATTERN_CHARACTERS:
        raise ApiError(
            422,
            f"pattern has {len(pattern):,} characters; expected a Tregex pattern of 1 to {limits.PATTERN_CHARACTERS:,}",
        )
    request = json.dumps({"pattern": pattern, "brackets": brackets}).encode()
    try:
        status, answer = await asyncio.wait_for(_run_process(request), limits.SEARCH_SECONDS)
    except asyncio.TimeoutError:
        raise ApiError(
            422, f"the search took more than {limits.SEARCH_SECONDS:.0f} seconds; expected a simpler pattern"
        ) from None
    if status:
        raise ApiError(422, "pattern: the search failed; expected a simpler pattern")
    if answer.startswith(b'{"error"'):
        raise ApiError(422, f"pattern: {json.loads(answer)['error']}")
    return answer


async def _run_process(request: bytes) -> tuple[int | None, bytes]:
    """The exit status and the output of the process, which is killed if this coroutine is canceled."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "treecrf.server.tregex"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each of its threads reserves memory
    )
    try:
        answer, _ = await process.communicate(request)
        return process.returncode, answer
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


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
            if characters > limits.SEARCH_ANSWER_CHARACTERS:
                return {"error": f"its matches have more than {limits.SEARCH_ANSWER_CHARACTERS:,} characters"}
            sentences[-1][str(number)] = fields
    return {"sentences": sentences}


def _match_fields(match: Match) -> dict[str, Any]:
    return {
        "match": _node_text(match.node),
        "namedNodes": [{name: _node_text(node)} for name, node in match.names.items()],
        "spanString": " ".join(match.tree.words[slice(*match.span)]),
    }


def _node_text(node: Tree | str) -> str:
    return (penn_format(node) if isinstance(node, Tree) else node) + "\n"


def _limit_process() -> None:
    """Limits the memory of this process, and lets the server go first on a busy processor, where the system can."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.SEARCH_MEMORY_BYTES, limits.SEARCH_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(limits.SEARCH_NICENESS)


if __name__ == "__main__":
    _limit_process()
    request = json.load(sys.stdin)
    try:
        answer = json.dumps(find_pattern(request["pattern"], request["brackets"]))
    except MemoryError:
        answer = json.dumps({"error": "the search needs too much memory; expected a simpler pattern"})
    sys.stdout.write(answer)
