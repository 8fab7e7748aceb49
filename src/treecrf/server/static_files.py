"""The page that people see at `/`: the files of the folder `page`, as they are."""

from collections.abc import Callable, Coroutine
from pathlib import Path

from fastapi import APIRouter, Response

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
    for path in sorted(_FOLDER.rglob("*")):
        if path.suffix in _TYPES:
            name = path.relative_to(_FOLDER).as_posix()
            routes.add_api_route("/" if name == "index.html" else f"/{name}", _show(path))
    return routes


def _show(path: Path) -> Callable[[], Coroutine[None, None, Response]]:
    async def show() -> Response:
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})

    return show
