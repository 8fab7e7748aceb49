"""The ASGI app: middleware and routes.

A request to parse takes one path, from top to bottom:

    access_log, auth    request id, log line, token, Host header
    request_body        bytes to JSON, within the limits
    schema              JSON to ParseRequest or BatchRequest
    request_parsing     to ParseOptions and SentenceInputs, within the limits
    batcher             queues the sentences with those of other requests
    parse_batch         calls the parser; writes each sentence in the format of its request
    app                 joins the sentences to the response, as schema describes it
"""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from treecrf import __version__
from treecrf.parser import Parser
from treecrf.server import schema
from treecrf.server.access_log import AccessLog
from treecrf.server.auth import AuthMiddleware
from treecrf.server.batcher import Batcher, Job, QueueFullError
from treecrf.server.errors import ApiError, handle_http_error, handle_validation_error
from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.openapi import docs_page
from treecrf.server.parse_batch import ParseOptions, SentenceInput, SentenceResult, parse_sentences
from treecrf.server.request_body import JsonRoute
from treecrf.server.request_parsing import input_prefix, read_inputs, read_options
from treecrf.server.static_files import page_routes
from treecrf.treebank.binarize import LabelSet

_THREAD_CHARACTERS = 20_000  # longer texts are split in a thread, so that the event loop is not blocked
_PLAIN_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_AUTH_ERRORS = (401, 421)
_PARSE_ERRORS = (400, *_AUTH_ERRORS, 408, 413, 415, 422, 503)


def create_app(
    parsers: Mapping[str, Parser], *, limits: Limits | None = None, token: str | None = None, hosts: Sequence[str] = ()
) -> FastAPI:
    """Creates the app for parsers by name. The first parser is the default for requests that name none.

    With a `token`, only requests with this token are answered. With `hosts`, only requests whose Host header is one of
    these names are answered.
    """
    limits = limits or Limits()
    metrics = Metrics()
    batcher = Batcher(partial(parse_sentences, parsers), limits, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        yield
        await asyncio.to_thread(batcher.close)

    app = FastAPI(
        title="treecrf",
        version=__version__,
        description="A neural CRF constituency parser over HTTP.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        exception_handlers={HTTPException: handle_http_error, RequestValidationError: handle_validation_error},
    )
    app.state.limits, app.state.is_closing = limits, False
    app.add_middleware(AuthMiddleware, token=token, hosts=hosts)
    app.add_middleware(AccessLog, metrics=metrics)  # outermost: gives a request its id first
    app.include_router(_parse_routes(parsers, batcher, limits))
    app.include_router(_info_routes(parsers, metrics, limits))
    app.include_router(page_routes())
    return app


def _parse_routes(parsers: Mapping[str, Parser], batcher: Batcher, limits: Limits) -> APIRouter:
    routes = APIRouter(route_class=JsonRoute)
    names = list(parsers)

    async def run(request: Request, body: schema.OptionsIn, inputs: list[schema.Input]) -> list[str]:
        options = read_options(body, names, limits)
        read = partial(read_inputs, inputs, options, parsers[options.model], limits)
        characters = sum(len(one.text or "") for one in inputs)
        groups = await asyncio.to_thread(read) if characters > _THREAD_CHARACTERS else read()
        return await _run_job(request, batcher, options, groups)

    @routes.post("/parse", responses=_parse_responses(schema.ParseResponse))
    async def parse(request: Request, body: schema.ParseRequest) -> Response:
        """Parse a text, or the words of a sentence."""
        (line,) = await run(request, body, [body])
        if body.format != "json":
            return Response(line + "\n", media_type="text/plain")
        return _json_response(f'{{"model": {json.dumps(body.model or names[0])}, {line[1:]}')

    @routes.post("/parse/batch", responses=_parse_responses(schema.BatchResponse))
    async def parse_batch(request: Request, body: schema.BatchRequest) -> Response:
        """Parse several texts or sentences."""
        lines = await run(request, body, body.inputs)
        if body.format != "json":
            return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")
        return _json_response(f'{{"model": {json.dumps(body.model or names[0])}, "results": [{", ".join(lines)}]}}')

    return routes


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
        results = iter(await _await_connected(request, batcher.run(Job(options, sentences))))
    except QueueFullError as error:
        raise ApiError(
            503,
            f"too many sentences are queued; try again in {error.retry_seconds} s",
            {"retry-after": str(error.retry_seconds)},
        ) from None
    prefixes = [input_prefix(index, len(groups)) for index in range(len(groups))]
    return [
        options.formatter.join(list(_raise_errors(islice(results, len(group)), prefix)))
        for group, prefix in zip(groups, prefixes, strict=True)
    ]


async def _await_connected(request: Request, work: Coroutine[Any, Any, list[SentenceResult]]) -> list[SentenceResult]:
    """Awaits work, and cancels it if the client disconnects."""
    task = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ApiError(499, "the client disconnected before the response")
        return task.result()
    finally:
        task.cancel()
        disconnect.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
        language=parser.language,
        root=parser.root,
        labels=sorted({parser.root, *LabelSet(parser.vocabulary.labels).names}),
        reads_tags=bool(parser.model_config.tag_size),
        has_tags=parser.model_config.tag_head,
    )


def _parse_responses(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "content": _PLAIN_TEXT}, **schema.error_responses(*_PARSE_ERRORS)}


def _json_response(content: str) -> Response:
    return Response(content, media_type="application/json")
