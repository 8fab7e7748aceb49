"""The routes for sentences and trees, and the path of a request that parses, from its bytes to its response:

1. `receive_body` receives the bytes, within the limits;
2. `RequestReader` reads them as JSON, RequestOptions and SentenceInputs;
3. `Batcher` queues the sentences with the sentences of other requests, fairly;
4. `parse_sentences` calls the parser, and writes each sentence in the format of its request;
5. `write_response` joins the sentences and the warnings of each input.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from treecrf.parser import Parser
from treecrf.server import schema
from treecrf.server.connections import client_name
from treecrf.server.errors import ApiError, Model, validate
from treecrf.server.fair_queue import FairThreads
from treecrf.server.limits import LOOP_BYTES, LOOP_CHARACTERS, READER_THREADS
from treecrf.server.request_body import await_connected, parse_json, receive_body
from treecrf.server.request_parsing import ParsedRequest, RequestOptions, RequestReader, SentenceInput, input_prefix
from treecrf.server.search_pool import SearchPool
from treecrf.server.work_queue import Batcher, Job, SentenceResult
from treecrf.trees.analysis import ParsedSentence

T = TypeVar("T")

PLAIN_TEXT = {"text/plain": {"schema": {"type": "string"}}}
AUTH_ERRORS = (401, 403, 421)
READ_ERRORS = (400, *AUTH_ERRORS, 408, 413, 415, 422)
_CPU_BATCH_WORDS = 500  # a CPU gains more from sentences of similar length than from large batches
_GPU_BATCH_WORDS = 5000


def write_response(request: ParsedRequest, sentences: Sequence[Sequence[str]]) -> Response:
    """Writes the response to a request, whose sentences are already in its format.

    Sentences are written by the thread that parses them: as text they need much less memory than their trees.
    """
    formatter = request.options.formatter
    if formatter.format != "json":
        return Response("".join(f"{formatter.join(group)}\n" for group in sentences), media_type="text/plain")
    results = [
        f'"sentences": [{", ".join(group)}], "warnings": {json.dumps(warnings)}'
        for group, warnings in zip(sentences, request.warnings, strict=True)
    ]
    fields = f'"results": [{", ".join(f"{{{result}}}" for result in results)}]' if request.is_batch else results[0]
    return Response(f'{{"model": {json.dumps(request.options.model)}, {fields}}}', media_type="application/json")


@dataclass(frozen=True)
class RequestRunner:
    """Reads requests and parses their sentences, in threads whose time clients share fairly."""

    reader: RequestReader
    batcher: Batcher
    threads: FairThreads = field(default_factory=lambda: FairThreads(READER_THREADS))

    async def run(self, request: Request, size: int, function: Callable[[], T], *, limit: int = LOOP_BYTES) -> T:
        """Runs a function: in a thread if its input or output is larger than the limit.

        A function that waits for a thread is canceled if the client disconnects.
        """
        if size <= limit:
            return function()
        return await await_connected(request, self.threads.run(client_name(request.scope), size, function))

    async def parse(
        self, request: Request, options: RequestOptions, groups: Sequence[Sequence[SentenceInput]]
    ) -> list[list[str]]:
        sentences = [sentence for group in groups for sentence in group]
        request.scope["log_fields"] = {
            "model": options.model,
            "sentences": len(sentences),
            "words": sum(len(sentence.words) for sentence in sentences),
        }
        job = Job(options, sentences, client=client_name(request.scope))
        results = iter(await await_connected(request, self.batcher.run(job)))
        return [
            list(_raise_errors(islice(results, len(group)), input_prefix(index, len(groups))))
            for index, group in enumerate(groups)
        ]

    async def answer(
        self, request: Request, body_type: type[schema.ParseRequest] | type[schema.BatchRequest]
    ) -> Response:
        content = await receive_body(request, self.reader.limits)
        parsed = await self.run(request, len(content), partial(self.reader.read, content, body_type))
        sentences = await self.parse(request, parsed.options, parsed.groups)
        characters = sum(len(sentence) for group in sentences for sentence in group)
        return await self.run(request, characters, partial(write_response, parsed, sentences), limit=LOOP_CHARACTERS)

    async def split(self, request: Request) -> Response:
        content = await receive_body(request, self.reader.limits)

        def split_text() -> Response:
            answer = self.reader.split(content)
            request.scope["log_fields"] = {"model": answer.model, "sentences": len(answer.sentences)}
            return Response(answer.model_dump_json(), media_type="application/json")

        return await self.run(request, len(content), split_text)


def _raise_errors(results: Iterator[SentenceResult], prefix: str) -> Iterator[str]:
    """Yields the results of an input's sentences, and raises the first error among them."""
    for number, result in enumerate(results):
        if isinstance(result, ValueError):
            reason = str(result).removeprefix("sentence 0: ")
            raise ApiError(422, f"{prefix}sentence {number}: {reason}")
        if isinstance(result, Exception):
            raise result
        yield result


def parse_sentences(
    parsers: Mapping[str, Parser],
    options: RequestOptions,
    sentences: Sequence[SentenceInput],
    should_stop: Callable[[], bool] | None = None,
) -> list[SentenceResult]:
    """Parses sentences together and returns one result per sentence.

    When `should_stop` returns true, the search for alternatives ends early, because the results are not needed.

    Either all sentences have tags or none has, and the same for constraints. If the batch fails, each sentence is
    parsed by itself, so that only the sentences at fault have errors.
    """
    try:
        outputs = _parse(parsers[options.model], options, sentences, should_stop)
        return [options.formatter.sentence(output) for output in outputs]
    except Exception as error:
        if len(sentences) == 1:
            return [error]
    return [result for sentence in sentences for result in parse_sentences(parsers, options, [sentence], should_stop)]


def _parse(
    parser: Parser, options: RequestOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool] | None
) -> Iterator[ParsedSentence]:
    words = [sentence.words for sentence in sentences]
    offsets = [sentence.offsets for sentence in sentences]
    settings: dict[str, Any] = {
        "tags": [sentence.tags for sentence in sentences] if sentences[0].tags is not None else None,
        "constraints": [sentence.constraints for sentence in sentences] if sentences[0].constraints else None,
        "batch_words": _CPU_BATCH_WORDS if parser.device == "cpu" else _GPU_BATCH_WORDS,
        "mbr": options.mbr,
        "functions": options.formatter.functions,
        "empties": options.formatter.empties,
    }
    k, marginals = options.formatter.kbest, options.marginals
    if not (options.formatter.probs or k or marginals):
        return map(ParsedSentence, parser.parse_many(words, **settings), offsets)
    analyses = parser.analyze_many(words, k=k, marginals=marginals, should_stop=should_stop, **settings)
    return map(lambda word_offsets, analysis: ParsedSentence(analysis.tree, word_offsets, analysis), offsets, analyses)


def parse_routes(runner: RequestRunner) -> APIRouter:
    """The routes of this server's own protocol."""
    routes = APIRouter()

    @routes.post("/parse", **schema.body_route("ParseRequest", "ParseResponse", *READ_ERRORS, 503, content=PLAIN_TEXT))
    async def parse(request: Request) -> Response:
        """Parse a text, or the words of a sentence."""
        return await runner.answer(request, schema.ParseRequest)

    @routes.post(
        "/parse/batch", **schema.body_route("BatchRequest", "BatchResponse", *READ_ERRORS, 503, content=PLAIN_TEXT)
    )
    async def parse_batch(request: Request) -> Response:
        """Parse several texts or sentences."""
        return await runner.answer(request, schema.BatchRequest)

    @routes.post("/sentences", **schema.body_route("SplitRequest", "SplitResponse", *READ_ERRORS))
    async def split(request: Request) -> Response:
        """Split a text into sentences and words, without parsing them."""
        return await runner.split(request)

    return routes


def tree_routes(runner: RequestRunner, pool: SearchPool) -> APIRouter:
    """The routes that search and convert trees, in processes with limits on time and memory."""
    routes = APIRouter()
    limits = runner.reader.limits

    async def read(request: Request, body_type: type[Model]) -> Model:
        content = await receive_body(request, limits)
        return await runner.run(request, len(content), lambda: validate(body_type, parse_json(content)))

    async def answer(request: Request, function: str, trees: list[str], **values: Any) -> Response:
        if len(trees) > limits.sentences:
            raise ApiError(
                422, f"{len(trees):,} trees; this server's limit is {limits.sentences:,}; send several requests"
            )
        request.scope["log_fields"] = {"sentences": len(trees)}
        return await pool.respond(request, partial(pool.run, function=function, brackets=trees, **values))

    @routes.post("/search", **schema.body_route("SearchRequest", "SearchResponse", *READ_ERRORS, 503))
    async def search(request: Request) -> Response:
        """Search trees for a Tregex pattern."""
        body = await read(request, schema.SearchRequest)
        return await answer(request, "find_nodes", body.trees, pattern=body.pattern)

    @routes.post("/dependencies", **schema.body_route("DependenciesRequest", "DependenciesResponse", *READ_ERRORS, 503))
    async def dependencies(request: Request) -> Response:
        """Convert English trees to Universal Dependencies, in CoNLL-U."""
        body = await read(request, schema.DependenciesRequest)
        return await answer(request, "write_conllu", body.trees, first=body.first)

    return routes
