"""The HTTP server: `treecrf serve`, and `server.app.create_app` for other ASGI servers."""
