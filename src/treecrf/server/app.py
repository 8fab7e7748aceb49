"""The app: its routes, and what they do with a request."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from itertools import islice

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from treecrf import __version__
from treecrf.parser import Parser
from treecrf.server import schema
from treecrf.server.access_log import Journal
from treecrf.server.auth import Guard
from treecrf.server.batcher import Batcher, FullError, Job
from treecrf.server.errors import Refusal, on_invalid, on_refusal
from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.openapi import reference
from treecrf.server.parse_batch import Answer, Item, Wish, parse_items
from treecrf.server.request_body import JsonRoute
from treecrf.server.request_parsing import read_inputs, read_wish
from treecrf.server.static_files import page_routes
from treecrf.treebank.binarize import LabelSet

_LONG = 20_000  # characters that take long enough to cut into words for others to go on meanwhile
_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_DOORS = (401, 421)
_REFUSALS = (400, *_DOORS, 408, 413, 415, 422, 503)


def create_app(
    parsers: Mapping[str, Parser], *, limits: Limits | None = None, token: str | None = None, hosts: Sequence[str] = ()
) -> FastAPI:
    """The app that parses with some parsers, by their names; the first of them where a request names none.

    With a `token`, only who has it is answered; with `hosts`, only who calls the server by one of these names.
    """
    limits = limits or Limits()
    metrics = Metrics()
    batcher = Batcher(partial(parse_items, parsers), limits, metrics)

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
        exception_handlers={HTTPException: on_refusal, RequestValidationError: on_invalid},
    )
    app.state.limits, app.state.is_closing = limits, False
    app.add_middleware(Guard, token=token, hosts=hosts)
    app.add_middleware(Journal, metrics=metrics)
    app.include_router(_parse_routes(parsers, batcher, limits))
    app.include_router(_other_routes(parsers, metrics, limits))
    app.include_router(page_routes())
    return app


def _parse_routes(parsers: Mapping[str, Parser], batcher: Batcher, limits: Limits) -> APIRouter:
    routes = APIRouter(route_class=JsonRoute)
    names = list(parsers)

    async def answer(request: Request, wanted: schema.Wanted, inputs: list[schema.Input]) -> list[str]:
        wish = read_wish(wanted, names, limits)
        read = partial(read_inputs, inputs, wanted, parsers[wish.model], limits)
        is_long = sum(len(given.text or "") for given in inputs) > _LONG
        items = await asyncio.to_thread(read) if is_long else read()
        return await _answer(request, batcher, wish, items)

    @routes.post(
        "/parse", responses={200: {"model": schema.ParseAnswer, "content": _TEXT}, **schema.problems(*_REFUSALS)}
    )
    async def parse(request: Request, body: schema.ParseRequest) -> Response:
        """Parse a text, or the words of a sentence."""
        (found,) = await answer(request, body, [body])
        if body.format != "json":
            return Response(found + "\n", media_type="text/plain")
        return _json(f'{{"model": {json.dumps(body.model or names[0])}, {found[1:]}')

    @routes.post(
        "/parse/batch", responses={200: {"model": schema.BatchAnswer, "content": _TEXT}, **schema.problems(*_REFUSALS)}
    )
    async def parse_batch(request: Request, body: schema.BatchRequest) -> Response:
        """Parse many texts or sentences at once."""
        found = await answer(request, body, body.inputs)
        if body.format != "json":
            return Response("".join(f"{line}\n" for line in found), media_type="text/plain")
        return _json(f'{{"model": {json.dumps(body.model or names[0])}, "results": [{", ".join(found)}]}}')

    return routes


async def _answer(request: Request, batcher: Batcher, wish: Wish, items: list[list[Item]]) -> list[str]:
    """The lines of a request's inputs."""
    every = [item for group in items for item in group]
    request.scope["noted"] = {
        "model": wish.model,
        "sentences": len(every),
        "words": sum(len(item.words) for item in every),
    }
    work = asyncio.ensure_future(batcher.run(Job(wish, every)))
    watch = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise Refusal(499, "the client left before its answer was there")
        answers = iter(work.result())
    except FullError as full:
        raise Refusal(
            503,
            f"too many sentences wait already; try again in {full.seconds} s",
            {"retry-after": str(full.seconds)},
        ) from None
    finally:
        work.cancel()
        watch.cancel()
    places = [f"inputs.{number}: " if len(items) > 1 else "" for number in range(len(items))]
    return [
        wish.style.join(list(_checked(islice(answers, len(group)), place)))
        for group, place in zip(items, places, strict=True)
    ]


def _checked(answers: Iterator[Answer], place: str) -> Iterator[str]:
    """The answers to an input's sentences; the first error among them refuses the request."""
    for number, answer in enumerate(answers):
        if isinstance(answer, ValueError):
            reason = str(answer).removeprefix("sentence 0: ")
            raise Refusal(422, f"{place}sentence {number}: {reason}")
        if isinstance(answer, Exception):
            raise answer
        yield answer


async def _gone(request: Request) -> None:
    """Come back when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _other_routes(parsers: Mapping[str, Parser], metrics: Metrics, limits: Limits) -> APIRouter:
    routes = APIRouter()
    models = schema.ModelsAnswer(
        models=[_describe(name, parser) for name, parser in parsers.items()], limits=asdict(limits)
    )

    @routes.get("/health")
    async def health() -> schema.HealthAnswer:
        """Whether the server lives; asked without a token."""
        return schema.HealthAnswer()

    @routes.get("/models", responses=schema.problems(*_DOORS))
    async def list_models() -> schema.ModelsAnswer:
        """The models, and what a request may ask for."""
        return models

    @routes.get("/metrics", response_class=Response, responses={200: {"content": _TEXT}, **schema.problems(*_DOORS)})
    async def show_metrics() -> Response:
        """Numbers for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        """The routes and their fields, for people."""
        return Response(reference(request.app.openapi()), media_type="text/html")

    return routes


def _describe(name: str, parser: Parser) -> schema.ModelAnswer:
    return schema.ModelAnswer(
        name=name,
        language=parser.language,
        root=parser.root,
        labels=sorted({parser.root, *LabelSet(parser.vocabulary.labels).names}),
        reads_tags=bool(parser.model.config.tag_size),
        has_tags=parser.model.config.tag_head,
    )


def _json(content: str) -> Response:
    return Response(content, media_type="application/json")
