"""Routes to the files of the web page, which is served at `/`."""

from collections.abc import Callable, Coroutine
from pathlib import Path

from fastapi import APIRouter, Response

_PAGE_FOLDER = Path(__file__).parent / "page"
_MEDIA_TYPES = {
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
    """One route per file that the page's folder has at startup."""
    routes = APIRouter(include_in_schema=False)
    for path in sorted(_PAGE_FOLDER.rglob("*")):
        if path.suffix in _MEDIA_TYPES:
            name = path.relative_to(_PAGE_FOLDER).as_posix()
            routes.add_api_route("/" if name == "index.html" else f"/{name}", _file_handler(path))
    return routes


def _file_handler(path: Path) -> Callable[[], Coroutine[None, None, Response]]:
    async def send_file() -> Response:
        return Response(path.read_bytes(), media_type=_MEDIA_TYPES[path.suffix], headers={"cache-control": "no-cache"})

    return send_file
