"""The OpenAPI document, and the `/docs` page that shows it as HTML without scripts or external resources."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from treecrf.server import schema

_FOLDER = Path(__file__).parent
_READ_BY_ROUTES = (schema.ParseRequest, schema.BatchRequest, schema.SplitRequest)


class DocumentedApp(FastAPI):
    """An app whose OpenAPI document has the schemas of bodies that the routes read and write themselves."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            models: list[Any] = [(model, "validation") for model in _READ_BY_ROUTES]
            models.append((schema.SplitResponse, "serialization"))
            _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")
            schemas |= json.loads((_FOLDER / "responses.json").read_bytes()) | definitions["$defs"]
        return super().openapi()


def docs_page(document: Mapping[str, Any]) -> str:
    """The HTML page that lists the routes of an OpenAPI document and the fields of its schemas."""
    info = document["info"]
    body = "\n".join([*_route_sections(document["paths"]), *_schema_sections(document["components"]["schemas"])])
    page = (_FOLDER / "docs.html").read_text(encoding="utf-8")
    return page.format(version=escape(info["version"]), description=escape(info["description"]), body=body)


def _route_sections(paths: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Routes</h2>"
    for path, methods in paths.items():
        for method, route in methods.items():
            yield f"<h3>{escape(method.upper())} {escape(path)}</h3><p>{escape(route.get('description', ''))}</p>"
            if "requestBody" in route:
                yield f"<p>Body: {_type_name(route['requestBody']['content']['application/json']['schema'])}.</p>"
            rows = [(status, _response(response)) for status, response in sorted(route["responses"].items())]
            yield _table(("status", "response"), rows)


def _response(response: Mapping[str, Any]) -> str:
    types = [_type_name(content.get("schema", {})) for content in response.get("content", {}).values()]
    return f"{escape(response['description'])} {' or '.join(name for name in types if name)}"


def _schema_sections(schemas: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Fields</h2>"
    for name, fields in schemas.items():
        yield f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(fields.get("description", ""))}</p>'
        rows = [_field_row(field_name, field) for field_name, field in fields.get("properties", {}).items()]
        yield _table(("field", "type", "default", "description"), rows)


def _field_row(name: str, field: Mapping[str, Any]) -> tuple[str, ...]:
    default, description = (escape(str(field.get(key, ""))) for key in ("default", "description"))
    return escape(name), _type_name(field), default, description


def _type_name(schema: Mapping[str, Any]) -> str:
    """The type of a schema in a few words, with links to named schemas."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_type_name, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}".removesuffix(" of ")
    return escape(str(schema.get("type", "")))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in header)}</tr>\n{chr(10).join(lines)}\n</table>"
