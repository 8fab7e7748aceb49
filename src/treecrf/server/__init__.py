"""Parses over HTTP: `treecrf serve`, and `server.app.create_app` for those who run the app themselves."""
