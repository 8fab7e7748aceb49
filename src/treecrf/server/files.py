"""The page that people see at `/`: the files of the folder `page`, as they are."""

from pathlib import Path

from fastapi import APIRouter, Response

from treecrf.server.problem import Refusal

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def page_routes() -> APIRouter:
    """A route to every file that is in the folder now, and to nothing else."""
    routes = APIRouter(include_in_schema=False)
    files = {path.relative_to(_FOLDER).as_posix(): path for path in _FOLDER.rglob("*") if path.suffix in _TYPES}

    @routes.get("/{name:path}")
    async def show(name: str) -> Response:
        path = files.get(name or "index.html")
        if path is None:
            raise Refusal(404, "there is no such page; GET /docs lists what there is")
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})

    return routes
