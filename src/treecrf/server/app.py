"""The ASGI app: middleware, the routes that parse, the routes that inform, and the web page at `/`."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.routing import Route

from treecrf import __version__
from treecrf.corpus.annotation.session import AnnotationSession
from treecrf.parser import Parser
from treecrf.server import schema
from treecrf.server.annotation import annotation_routes, estimate_gains
from treecrf.server.connections import Connections
from treecrf.server.corenlp import corenlp_routes
from treecrf.server.errors import handle_http_error
from treecrf.server.limits import Limits
from treecrf.server.memory import release_memory_periodically
from treecrf.server.middleware import AuthMiddleware, DrainUnreadBody, HeadMethod
from treecrf.server.models import explain_labels, model_info
from treecrf.server.monitoring import AccessLog, Metrics
from treecrf.server.request_parsing import RequestReader, model_name
from treecrf.server.routes import AUTH_ERRORS, PLAIN_TEXT, RequestRunner, parse_routes, parse_sentences, tree_routes
from treecrf.server.schema import DocumentedApp, docs_page
from treecrf.server.search_pool import SearchPool
from treecrf.server.work_queue import Batcher

_PAGE_FOLDER = Path(__file__).parent / "page"
_MEDIA_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}


def create_app(
    parsers: Mapping[str, Parser],
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] = (),
    corenlp: bool = False,
    annotation: AnnotationSession | None = None,
) -> FastAPI:
    """Creates the app for parsers by name. The first parser is the default for requests that name none.

    With a `token`, only requests with this token are answered. With `hosts`, only requests whose Host header is one of
    these names are answered. With `corenlp`, the app has the routes of Stanford's CoreNLP server too. With an
    `annotation`, its first page is the annotation page.
    """
    limits = limits or Limits()
    metrics = Metrics()
    batcher = Batcher(partial(parse_sentences, parsers), limits, metrics)
    pool = SearchPool()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        if corenlp or annotation:
            pool.start()
        gain_task = asyncio.ensure_future(estimate_gains(annotation)) if annotation else None
        memory_task = asyncio.ensure_future(release_memory_periodically())
        yield
        memory_task.cancel()
        if gain_task:
            gain_task.cancel()
        await pool.close()
        await asyncio.to_thread(batcher.close)
        if annotation:
            await asyncio.to_thread(annotation.close)

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
    runner = RequestRunner(RequestReader(parsers, limits), batcher)
    routers = [parse_routes(runner), tree_routes(runner, pool), _info_routes(parsers, metrics, limits)]
    if corenlp:
        routers.append(corenlp_routes(runner, pool))
    if annotation:
        routers.append(annotation_routes(annotation, runner, pool))
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    paths = {route.path for route in routes if isinstance(route, Route)}
    for router in (*routers, _page_routes("annotate.html" if annotation else "index.html")):
        app.include_router(router)
    app.add_middleware(HeadMethod)  # innermost
    app.add_middleware(AuthMiddleware, token=token, hosts=hosts)
    app.add_middleware(AccessLog, metrics=metrics, paths=paths)
    app.add_middleware(DrainUnreadBody, limits=limits)  # outermost
    return app


def _info_routes(parsers: Mapping[str, Parser], metrics: Metrics, limits: Limits) -> APIRouter:
    routes = APIRouter()
    models = schema.ModelsResponse(
        models=[model_info(name, parser) for name, parser in parsers.items()], limits=asdict(limits)
    )

    @routes.get("/health")
    async def health() -> schema.HealthResponse:
        """Check that the server is running; needs no token."""
        return schema.HealthResponse()

    @routes.get("/models", responses=schema.error_responses(*AUTH_ERRORS))
    async def list_models() -> schema.ModelsResponse:
        """List the models and the limits on requests."""
        return models

    @routes.get("/labels", responses=schema.error_responses(*AUTH_ERRORS, 422))
    async def list_labels(model: str | None = None) -> schema.LabelsResponse:
        """Explain the labels and tags of a model, by default of the first one."""
        return explain_labels(parsers[model_name(parsers, model)])

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": PLAIN_TEXT}, **schema.error_responses(*AUTH_ERRORS)},
    )
    async def show_metrics() -> Response:
        """Metrics in the Prometheus text format."""
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return Response(docs_page(request.app.openapi()), media_type="text/html")

    return routes


def _page_routes(first_page: str) -> APIRouter:
    """One route per file that the page's folder has at startup; the first page is at `/`."""
    routes = APIRouter(include_in_schema=False)
    files = {f"/{path.name}": path for path in sorted(_PAGE_FOLDER.iterdir()) if path.suffix in _MEDIA_TYPES}
    files["/"] = files.pop(f"/{first_page}")

    async def send_file(request: Request) -> Response:
        path = files[request.scope["path"]]
        return Response(path.read_bytes(), media_type=_MEDIA_TYPES[path.suffix], headers={"cache-control": "no-cache"})

    for url in files:
        routes.add_api_route(url, send_file)
    return routes
