"""The adapter uses private attributes of Uvicorn: these tests name the attributes that an update has moved."""

import ast
import asyncio
import inspect
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from treecrf.server import uvicorn_adapter

SOURCE = ast.parse(Path(uvicorn_adapter.__file__).read_text(encoding="utf-8"))


def uvicorn_instances() -> dict[str, object]:
    """A protocol, a server and a request-response cycle of Uvicorn, without the adapter."""

    async def create() -> dict[str, object]:
        config = uvicorn.Config(FastAPI(), ws="none", log_config=None)
        protocol = HttpToolsProtocol(config=config, server_state=ServerState(), app_state={})
        protocol.on_message_begin()
        values = dict.fromkeys(inspect.signature(RequestResponseCycle).parameters)
        server = uvicorn.Server(config)
        server.servers = []  # from the start of a server on
        return {"ServerProtocol": protocol, "Server": server, "cycle": RequestResponseCycle(**values)}  # type: ignore[arg-type]

    return asyncio.run(create())


def used_attributes(class_name: str) -> set[str]:
    """The attributes of `self` that a class of the adapter uses and does not define, and `super()`'s methods."""
    (class_node,) = (node for node in SOURCE.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    attributes = [node for node in ast.walk(class_node) if isinstance(node, ast.Attribute)]
    on_self = [node for node in attributes if ast.unparse(node.value) == "self"]
    own = {node.name for node in class_node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {node.attr for node in on_self if isinstance(node.ctx, ast.Store) and node.attr != "app"}
    overridden = {node.attr for node in attributes if ast.unparse(node.value) == "super()"}
    return {node.attr for node in on_self} - own | overridden


def used_cycle_attributes() -> set[str]:
    attributes = [node for node in ast.walk(SOURCE) if isinstance(node, ast.Attribute)]
    return {node.attr for node in attributes if ast.unparse(node.value) in ("self.cycle", "cycle")}


def missing_attributes(instances: dict[str, object]) -> list[str]:
    used = {name: used_attributes(name) for name in ("ServerProtocol", "Server")} | {"cycle": used_cycle_attributes()}
    return [
        f"{type(instances[name]).__name__}.{attribute}"
        for name, attributes in used.items()
        for attribute in sorted(attributes)
        if not hasattr(instances[name], attribute)
    ]


def test_uvicorn_has_every_attribute_that_the_adapter_uses() -> None:
    missing = missing_attributes(uvicorn_instances())
    assert not missing, f"Uvicorn {uvicorn.__version__} has moved {missing}; adapt server/uvicorn_adapter.py"


def test_the_attributes_that_the_adapter_uses_are_known() -> None:
    assert {"cycle", "pipeline", "flow", "parser", "transport", "_unset_keepalive_if_required"} <= used_attributes(
        "ServerProtocol"
    )
    assert {"servers", "shutdown", "handle_exit"} <= used_attributes("Server") | {"shutdown"}
    assert {"response_complete", "message_event", "keep_alive", "more_body"} <= used_cycle_attributes()


@pytest.mark.parametrize(("name", "attribute"), [("ServerProtocol", "pipeline"), ("cycle", "more_body")])
def test_an_attribute_that_has_moved_is_named(name: str, attribute: str) -> None:
    instances = uvicorn_instances()
    delattr(instances[name], attribute)
    assert [text.partition(".")[2] for text in missing_attributes(instances)] == [attribute]


def test_nothing_else_in_the_server_imports_uvicorn_s_modules() -> None:
    folder = Path(uvicorn_adapter.__file__).parent
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert [name for name, source in sources.items() if "uvicorn.protocols" in source] == ["uvicorn_adapter.py"]
    assert sorted(name for name, source in sources.items() if "import uvicorn\n" in source) == [
        "process.py",
        "uvicorn_adapter.py",
    ]
