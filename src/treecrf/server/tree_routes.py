"""The routes that search and convert trees, in processes with limits on time and memory."""

from typing import Any

from fastapi import APIRouter, Request, Response

from treecrf.server import schema
from treecrf.server.connections import client_name
from treecrf.server.errors import ApiError, Model, validate
from treecrf.server.parse_routes import READ_ERRORS, RequestRunner
from treecrf.server.request_body import await_connected, parse_json, receive_body
from treecrf.server.search_pool import SearchPool


def tree_routes(runner: RequestRunner, pool: SearchPool) -> APIRouter:
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
        client = client_name(request.scope)
        request.scope["log_fields"] = {"sentences": len(trees)}

        async def take_turn() -> bytes:
            async with pool.turn(client):
                return await pool.run(client, function, brackets=trees, **values)

        return Response(await await_connected(request, take_turn()), media_type="application/json")

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
