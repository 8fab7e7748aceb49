"""Loads the parsers that a server offers, describes them, and warns about texts that they cannot read."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from treecrf.parser import Parser, models
from treecrf.parser.models.model_card import CARD_JSON, ModelCard, format_megabytes
from treecrf.server.schema import LabelsResponse, ModelInfo
from treecrf.text import guess_other_language, language_name
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.label_glossary import explain, read_glossary
from treecrf.trees.treebank.languages import LANGUAGES

_ENCODERS = {"lstm": "LSTM", "transformer": "transformer"}


def load_parsers(sources: Sequence[str], device: str | None = None) -> dict[str, Parser]:
    """Loads installed models by name and saved parsers by folder; a folder's last component is the parser's name."""
    parsers: dict[str, Parser] = {}
    for source in sources:
        name = Path(source).resolve().name if Path(source).is_dir() else source
        if name in parsers:
            raise ValueError(f"two models have the name '{name}'; expected folders with different names")
        parsers[name] = parser = Parser.load(source, device)
        parser.tokenize("a")  # a missing segmenter is an error at startup, not in a request
        parser.parse(["a"], tags=["_"])
    return parsers


def model_info(name: str, parser: Parser) -> ModelInfo:
    """The description of a model in GET /models."""
    return ModelInfo(
        name=name,
        description=_describe(parser),
        language=parser.language,
        root=parser.root,
        labels=_labels(parser),
        reads_tags=bool(parser.model_config.tag_size),
        has_tags=parser.model_config.tag_head,
        has_functions="functions" in parser.arrays,
        has_empties="empties" in parser.arrays,
    )


def explain_labels(parser: Parser) -> LabelsResponse:
    """The meanings of a model's labels and tags, and of the others in the glossary of its language."""
    language = parser.language
    if language not in LANGUAGES:
        return LabelsResponse(labels={}, tags={})

    def meanings(names: Iterable[str], table: str) -> dict[str, str]:
        all_names = {*names, *read_glossary(language)[table]}
        explained = {name: explain(name, language, is_tag=table == "tag") for name in sorted(all_names)}
        return {name: meaning for name, meaning in explained.items() if meaning}

    return LabelsResponse(labels=meanings(_labels(parser), "label"), tags=meanings(parser.vocabulary.tags, "tag"))


def _labels(parser: Parser) -> list[str]:
    return sorted({parser.root, *LabelSet(parser.vocabulary.labels).names})


def _describe(parser: Parser) -> str:
    """A line about a model: language, encoder, and from its model card the size, the first score and the license."""
    encoder = parser.model_config.encoder
    facts = [language_name(parser.language), _ENCODERS.get(encoder, encoder)]
    if parser.folder is None or not (parser.folder / CARD_JSON).is_file():
        return ", ".join(facts)
    card = ModelCard.load(parser.folder)
    facts += [format_megabytes(card.size), *(f"F1 {score.f1:.1f} on {score.name}" for score in card.scores[:1])]
    return ", ".join([*facts, card.purpose.license])


def language_warnings(
    sentences: Iterable[Sequence[str]], model: str, parsers: Mapping[str, Parser], *, is_text: bool
) -> list[str]:
    """A message if the words of a sentence are not of the model's language; it names a model that reads them.

    The words of an input that is not text are checked only for the models of this project: a parser that reads nothing
    but words need not state its language.
    """
    if not is_text and not models.is_known(model):
        return []
    language = parsers[model].language
    for words in sentences:
        if guess := guess_other_language(words, language):
            names = [name for name, parser in parsers.items() if parser.language == guess.code]
            advice = f"the model {names[0]} of this server reads it" if names else "no model of this server reads it"
            return [f"the text looks {guess.name}, and the model {model} reads {language_name(language)}; {advice}"]
    return []
