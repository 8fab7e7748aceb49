"""The routes of the annotation page: the queue, sentences, actions, search in finished trees, and agreement."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from treecrf.corpus.annotation.doubt import DOUBT
from treecrf.corpus.annotation.events import FIELDS
from treecrf.corpus.annotation.session import ORDERS, AnnotationSession, ParsedState, StaleError
from treecrf.corpus.annotation.state import SentenceHistory
from treecrf.server.connections import client_name
from treecrf.server.errors import ApiError
from treecrf.server.request_body import await_connected, parse_json, receive_body
from treecrf.server.routes import RequestRunner
from treecrf.server.search_pool import SearchPool
from treecrf.trees.treebank.binarize import LabelSet

T = TypeVar("T")

_LISTED = 100  # sentences of the queue per answer
_TEXT_CHARACTERS = 2000  # characters per comment
_REQUIRED_FIELDS = {"sentence", "version", "action"}
_EVENT_FIELDS = _REQUIRED_FIELDS | {name for names in FIELDS.values() for name in names} - {"tree"}


async def estimate_gains(session: AnnotationSession) -> None:
    """Computes the expected gain of every sentence while the server answers requests."""
    estimates = session.estimate_gains()
    while await asyncio.to_thread(next, estimates, None) is not None:
        await asyncio.sleep(0)


def annotation_routes(session: AnnotationSession, runner: RequestRunner, pool: SearchPool) -> APIRouter:
    routes = APIRouter(prefix="/annotation", include_in_schema=False)
    parser = session.parser
    gains: list[asyncio.Future[None]] = []

    async def run(request: Request, function: Callable[[], T]) -> T:
        try:
            return await runner.threads.run(client_name(request.scope), 1, function)
        except StaleError as error:
            raise ApiError(409, str(error)) from None
        except (ValueError, TypeError) as error:
            raise ApiError(422, str(error).removeprefix("sentence 0: ")) from None
        except OSError as error:
            raise ApiError(507, f"{error.filename}: {error.strerror}") from None

    def annotator(request: Request) -> str:
        return request.query_params.get("annotator") or session.default_annotator

    @routes.get("/info")
    async def info() -> dict[str, Any]:
        return {
            "annotator": session.default_annotator,
            "orders": ORDERS,
            "labels": sorted({*LabelSet(parser.vocabulary.labels).names}),
            "tags": sorted({tag for tag in parser.vocabulary.tags if tag.isprintable()}),
            "root": parser.root,
            "language": parser.language,
        }

    @routes.get("/queue")
    async def queue(request: Request) -> dict[str, Any]:
        order: Any = request.query_params.get("order", "gain")
        if order not in ORDERS:
            raise ApiError(422, f"the order is {order!r:.40}; expected one of {', '.join(ORDERS)}")
        return await run(request, partial(_queue, session, annotator(request), order))

    @routes.get("/sentences/{number}")
    async def sentence(request: Request, number: int) -> dict[str, Any]:
        return await run(request, lambda: _view(number, *session.parsed(annotator(request), number)))

    @routes.post("/events")
    async def act(request: Request) -> dict[str, Any]:
        body = parse_json(await receive_body(request, runner.reader.limits))
        return await run(request, partial(_act, session, annotator(request), body))

    @routes.post("/model")
    async def use_offer(request: Request) -> dict[str, Any]:
        body = parse_json(await receive_body(request, runner.reader.limits))
        model = body.get("model") if isinstance(body, dict) else None
        await run(request, partial(session.use_offer, model))
        gains.append(asyncio.ensure_future(estimate_gains(session)))  # the loop holds tasks weakly
        return {"model": model}

    @routes.get("/search")
    async def search(request: Request) -> Response:
        pattern = request.query_params.get("pattern", "")
        name, client = annotator(request), client_name(request.scope)
        trees = await run(request, lambda: {number: str(tree) for number, tree in session.finished(name).items()})

        async def find() -> bytes:
            async with pool.turn(client):
                return await pool.search(client, "find_nodes", pattern, list(trees.values()))

        found = json.loads(await await_connected(request, find()))
        numbers = list(trees)
        matches = [{"sentence": numbers[match["tree"]], "text": match["text"]} for match in found["matches"]]
        return Response(
            json.dumps({"matches": matches[:_LISTED], "count": len(matches)}), media_type="application/json"
        )

    @routes.get("/agreement")
    async def agreement(request: Request) -> dict[str, Any]:
        names = [request.query_params.get(name, "") for name in ("annotator", "other")]
        if unknown := [name for name in names if name not in session.project.annotators]:
            raise ApiError(422, f"there is no annotator {unknown[0]!r:.60}; expected two annotators by name")
        result = await run(request, partial(session.agreement, *names))
        differences = [
            {"sentence": number, "views": [_tree_view(tree) for tree in trees]}
            for number, trees in list(result.differences.items())[:_LISTED]
        ]
        return {
            "sentences": result.sentences,
            "f1": result.f1,
            "differing": len(result.differences),
            "differences": differences,
        }

    return routes


def _queue(session: AnnotationSession, annotator: str, order: Any) -> dict[str, Any]:
    numbers = session.queue(annotator, order)
    sentences = session.project.sentences
    rows = [
        {"sentence": number, "text": " ".join(sentences[number])[:200], "gain": session.gains.get(number)}
        for number in numbers[:_LISTED]
    ]
    progress = session.progress(annotator)
    offer = None if (found := session.offer) is None else {"model": found.model, "verdict": found.verdict}
    return {
        "queue": rows,
        "open": len(numbers),
        "estimated": len(session.gains),
        "progress": progress,
        "others": [name for name in session.project.annotators if name != annotator],
        "offer": offer,
    }


def _act(session: AnnotationSession, annotator: str, body: Any) -> dict[str, Any]:
    if not isinstance(body, dict) or not body.keys() >= _REQUIRED_FIELDS:
        raise ValueError("the body is not an object with sentence, version and action")
    expected = _EVENT_FIELDS | ({"moved", "target"} if body["action"] == "attach" else set())
    if unknown := body.keys() - expected:
        raise ValueError(f"the body has the unknown field {sorted(unknown)[0]!r:.40}")
    if len(str(body.get("text", ""))) > _TEXT_CHARACTERS:
        raise ValueError(f"the text is longer than {_TEXT_CHARACTERS} characters")
    history, parsed = session.act(annotator, **body)
    return _view(body["sentence"], history, parsed)


def _view(number: int, history: SentenceHistory, parsed: ParsedState) -> dict[str, Any]:
    """A sentence as the page shows it."""
    state = history.state
    return {
        "sentence": number,
        "version": history.version,
        "words": state.words,
        "tags": parsed.tree.tags,
        "tree": str(parsed.tree),
        "spans": [
            {
                "start": each.start,
                "end": each.end,
                "label": each.label,
                "calibrated": each.calibrated,
                "in_doubt": each.calibrated < DOUBT,
            }
            for each in parsed.constituents
        ],
        "require": state.require,
        "forbid": state.forbid,
        "fixed_tags": list(state.fixed_tags),
        "status": state.status,
        "note": state.note,
        "comment": history.comment,
        "can_undo": history.can_undo,
        "can_redo": history.can_redo,
    }


def _tree_view(tree: Any) -> dict[str, Any]:
    spans = [{"start": start, "end": end, "label": label, "calibrated": 1.0} for start, end, label in tree.spans()]
    return {"words": tree.words, "tags": tree.tags, "tree": str(tree), "spans": spans}
