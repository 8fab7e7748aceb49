"""The ASGI app: middleware and routes.

A request to parse takes one path, from top to bottom:

    access_log, auth    request id, log line, token, Host header
    request_body        receives the bytes, within the limits
    request_parsing     bytes to JSON, to ParseRequest or BatchRequest, to ParseOptions and SentenceInputs
    batcher, lane       queue the sentences with those of other requests, fairly
    parse_batch         calls the parser; writes each sentence in the format of its request
    app                 joins the sentences to the response, as schema describes it
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from treecrf import __version__
from treecrf.parser import Parser
from treecrf.server import schema
from treecrf.server.access_log import AccessLog
from treecrf.server.auth import AuthMiddleware
from treecrf.server.batcher import Batcher, QueueFullError, StoppedError
from treecrf.server.client import client_name
from treecrf.server.connections import Connections
from treecrf.server.disconnection import await_connected
from treecrf.server.errors import ApiError, handle_http_error
from treecrf.server.fair_threads import FairThreads
from treecrf.server.head_method import HeadMethod
from treecrf.server.lane import Job
from treecrf.server.limits import Limits
from treecrf.server.memory import release_memory_periodically
from treecrf.server.metrics import Metrics
from treecrf.server.models import describe_model
from treecrf.server.openapi import DocumentedApp, docs_page
from treecrf.server.parse_batch import ParseOptions, SentenceInput, SentenceResult, parse_sentences
from treecrf.server.request_body import receive_body
from treecrf.server.request_parsing import Body, ParsedRequest, input_prefix, read_request, read_split_request
from treecrf.server.static_files import page_routes
from treecrf.server.unread_body import DrainUnreadBody
from treecrf.trees.treebank.binarize import LabelSet

T = TypeVar("T")

_LOOP_BYTES = 2000  # longer bodies are read in a thread, so that the event loop is not blocked,
_LOOP_CHARACTERS = 1_000_000  # and longer responses are joined in a thread
_READER_THREADS = 2
_PLAIN_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_AUTH_ERRORS = (401, 421)
_READ_ERRORS = (400, *_AUTH_ERRORS, 408, 413, 415, 422)
_PARSE_ERRORS = (*_READ_ERRORS, 503)


def create_app(
    parsers: Mapping[str, Parser],
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] = (),
    corenlp: bool = False,
) -> FastAPI:
    """Creates the app for parsers by name. The first parser is the default for requests that name none.

    With a `token`, only requests with this token are answered. With `hosts`, only requests whose Host header is one of
    these names are answered. With `corenlp`, the app has the routes of Stanford's CoreNLP server too.
    """
    limits = limits or Limits()
    metrics = Metrics()
    batcher = Batcher(partial(parse_sentences, parsers), limits, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        memory_task = asyncio.ensure_future(release_memory_periodically())
        yield
        memory_task.cancel()
        await asyncio.to_thread(batcher.close)

    app = DocumentedApp(
        title="treecrf",
        version=__version__,
        description="A neural CRF constituency parser over HTTP.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        exception_handlers={HTTPException: handle_http_error},
    )
    app.state.limits, app.state.batcher, app.state.is_closing = limits, batcher, False
    app.state.connections = Connections(limits.connections)
    app.add_middleware(HeadMethod)  # innermost
    app.add_middleware(AuthMiddleware, token=token, hosts=hosts)
    app.add_middleware(AccessLog, metrics=metrics)
    app.add_middleware(DrainUnreadBody, limits=limits)  # outermost
    readers = FairThreads(_READER_THREADS)
    app.include_router(_parse_routes(parsers, batcher, limits, readers))
    if corenlp:
        app.include_router(_corenlp_routes(parsers, batcher, limits, readers))
    app.include_router(_info_routes(parsers, metrics, limits))
    app.include_router(page_routes())
    return app


def _parse_routes(parsers: Mapping[str, Parser], batcher: Batcher, limits: Limits, readers: FairThreads) -> APIRouter:
    routes = APIRouter()

    async def run(request: Request, model: type[Body]) -> tuple[ParsedRequest[Body], list[str]]:
        content = await receive_body(request, limits)
        read = partial(read_request, content, model, parsers, limits)
        parsed = await _read(readers, request, len(content), read)
        return parsed, await _run_job(request, batcher, parsed.options, parsed.groups)

    def write(parsed: ParsedRequest[Body], lines: Sequence[str], *, is_batch: bool) -> Response:
        if parsed.options.formatter.format != "json":
            return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")
        results = _add_warnings(lines, parsed.warnings)
        end = f'"results": [{", ".join(results)}]}}' if is_batch else results[0][1:]
        return Response(f'{{"model": {json.dumps(parsed.options.model)}, {end}', media_type="application/json")

    async def respond(
        request: Request, parsed: ParsedRequest[Body], lines: Sequence[str], *, is_batch: bool
    ) -> Response:
        size, work = sum(map(len, lines)), partial(write, parsed, lines, is_batch=is_batch)
        return await _run(readers, request, size, work) if size > _LOOP_CHARACTERS else work()

    @routes.post(
        "/parse",
        responses=_parse_responses(schema.ParseResponse),
        openapi_extra=schema.request_body(schema.ParseRequest),
    )
    async def parse(request: Request) -> Response:
        """Parse a text, or the words of a sentence."""
        parsed, lines = await run(request, schema.ParseRequest)
        return await respond(request, parsed, lines, is_batch=False)

    @routes.post(
        "/parse/batch",
        responses=_parse_responses(schema.BatchResponse),
        openapi_extra=schema.request_body(schema.BatchRequest),
    )
    async def parse_batch(request: Request) -> Response:
        """Parse several texts or sentences."""
        parsed, lines = await run(request, schema.BatchRequest)
        return await respond(request, parsed, lines, is_batch=True)

    @routes.post(
        "/sentences",
        responses={200: {"model": schema.SplitResponse}, **schema.error_responses(*_READ_ERRORS)},
        openapi_extra=schema.request_body(schema.SplitRequest),
    )
    async def split(request: Request) -> Response:
        """Split a text into sentences and words, without parsing them."""
        content = await receive_body(request, limits)

        def split_text() -> Response:
            answer = read_split_request(content, parsers, limits)
            request.scope["log_fields"] = {"model": answer.model, "sentences": len(answer.sentences)}
            return Response(answer.model_dump_json(), media_type="application/json")

        return await _read(readers, request, len(content), split_text)

    return routes


def _add_warnings(lines: Sequence[str], warnings: Sequence[Sequence[str]]) -> list[str]:
    """The JSON objects of inputs, with the warnings about each."""
    return [f'{line[:-1]}, "warnings": {json.dumps(one)}}}' for line, one in zip(lines, warnings, strict=True)]


def _corenlp_routes(parsers: Mapping[str, Parser], batcher: Batcher, limits: Limits, readers: FairThreads) -> APIRouter:
    from treecrf.server.corenlp import corenlp_routes

    async def run(request: Request, options: ParseOptions, sentences: list[SentenceInput]) -> list[str]:
        return await _run_job(request, batcher, options, [[sentence] for sentence in sentences])

    return corenlp_routes(parsers, limits, run=run, read=partial(_read, readers))


async def _read(readers: FairThreads, request: Request, size: int, read: Callable[[], T]) -> T:
    """Reads a body: a large one in a thread, fairly shared between clients."""
    return await _run(readers, request, size, read) if size > _LOOP_BYTES else read()


async def _run(threads: FairThreads, request: Request, size: int, function: Callable[[], T]) -> T:
    """Runs a function in a thread, in the order of the clients' shares, unless the client disconnects before."""
    return await await_connected(request, threads.run(client_name(request.scope), size, function))


async def _run_job(
    request: Request, batcher: Batcher, options: ParseOptions, groups: list[list[SentenceInput]]
) -> list[str]:
    """Parses the sentences of each input, and returns one line per input."""
    sentences = [sentence for group in groups for sentence in group]
    request.scope["log_fields"] = {
        "model": options.model,
        "sentences": len(sentences),
        "words": sum(len(sentence.words) for sentence in sentences),
    }
    try:
        job = Job(options, sentences, client=client_name(request.scope))
        results = iter(await await_connected(request, batcher.run(job)))
    except QueueFullError as error:
        raise ApiError(
            503,
            f"too many sentences are queued; try again in {error.retry_seconds} s",
            {"retry-after": str(error.retry_seconds)},
        ) from None
    except StoppedError:
        raise ApiError(
            503, "the server stopped before the response was complete; send the request again", {"retry-after": "1"}
        ) from None
    prefixes = [input_prefix(index, len(groups)) for index in range(len(groups))]
    return [
        options.formatter.join(list(_raise_errors(islice(results, len(group)), prefix)))
        for group, prefix in zip(groups, prefixes, strict=True)
    ]


def _raise_errors(results: Iterator[SentenceResult], prefix: str) -> Iterator[str]:
    """Yields the results of an input's sentences, and raises the first error among them."""
    for number, result in enumerate(results):
        if isinstance(result, ValueError):
            reason = str(result).removeprefix("sentence 0: ")
            raise ApiError(422, f"{prefix}sentence {number}: {reason}")
        if isinstance(result, Exception):
            raise result
        yield result


def _info_routes(parsers: Mapping[str, Parser], metrics: Metrics, limits: Limits) -> APIRouter:
    routes = APIRouter()
    models = schema.ModelsResponse(
        models=[_describe_model(name, parser) for name, parser in parsers.items()], limits=asdict(limits)
    )

    @routes.get("/health")
    async def health() -> schema.HealthResponse:
        """Check that the server is running; needs no token."""
        return schema.HealthResponse()

    @routes.get("/models", responses=schema.error_responses(*_AUTH_ERRORS))
    async def list_models() -> schema.ModelsResponse:
        """List the models and the limits on requests."""
        return models

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": _PLAIN_TEXT}, **schema.error_responses(*_AUTH_ERRORS)},
    )
    async def show_metrics() -> Response:
        """Metrics in the Prometheus text format."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return Response(docs_page(request.app.openapi()), media_type="text/html")

    return routes


def _describe_model(name: str, parser: Parser) -> schema.ModelInfo:
    return schema.ModelInfo(
        name=name,
        description=describe_model(parser),
        language=parser.language,
        root=parser.root,
        labels=sorted({parser.root, *LabelSet(parser.vocabulary.labels).names}),
        reads_tags=bool(parser.model_config.tag_size),
        has_tags=parser.model_config.tag_head,
    )


def _parse_responses(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "content": _PLAIN_TEXT}, **schema.error_responses(*_PARSE_ERRORS)}
