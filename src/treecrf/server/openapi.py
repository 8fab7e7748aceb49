"""The OpenAPI document as a page that needs nothing but itself."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>treecrf: reference</title></head>
<body>
<h1>treecrf {version}</h1>
<p>{description} The same for programs: <a href="openapi.json">openapi.json</a>. The page: <a href=".">/</a>.</p>
{body}
</body>
</html>
"""


def reference(document: Mapping[str, Any]) -> str:
    """A page about the routes of an OpenAPI document and the fields of its bodies."""
    info = document["info"]
    body = "\n".join([*_routes(document["paths"]), *_schemas(document["components"]["schemas"])])
    return _PAGE.format(version=escape(info["version"]), description=escape(info["description"]), body=body)


def _routes(paths: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Routes</h2>"
    for path, methods in paths.items():
        for method, route in methods.items():
            yield f"<h3>{escape(method.upper())} {escape(path)}</h3><p>{escape(route.get('description', ''))}</p>"
            if "requestBody" in route:
                yield f"<p>Takes {_kind(route['requestBody']['content']['application/json']['schema'])}.</p>"
            rows = [(status, _answer(answer)) for status, answer in sorted(route["responses"].items())]
            yield _table(("status", "answer"), rows)


def _answer(answer: Mapping[str, Any]) -> str:
    kinds = [_kind(content.get("schema", {})) for content in answer.get("content", {}).values()]
    return f"{escape(answer['description'])} {' or '.join(kind for kind in kinds if kind)}"


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Fields</h2>"
    for name, schema in schemas.items():
        yield f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p>'
        rows = [
            (escape(field), _kind(about), escape(str(about.get("default", ""))), escape(about.get("description", "")))
            for field, about in schema.get("properties", {}).items()
        ]
        yield _table(("field", "type", "default", "about"), rows)


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema's type in a few words, with links to those that have a name."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}".removesuffix(" of ")
    return escape(str(schema.get("type", "")))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>\n{chr(10).join(lines)}\n</table>"
