"""The languages of this project: one record each. Other packages look up their part of a language by its name here."""

from typing import NamedTuple


class Language(NamedTuple):
    """A language: its name, and the names of its tokenizer, head rules, model and glossary."""

    code: str  # ISO 639-1
    name: str
    tokenizer: str  # module of `treecrf.text`
    model: str | None  # the model for raw text, if there is one
    head_rules: str | None = None  # name in `treecrf.trees.search.heads`
    glossary: str | None = None  # file of `glossaries/` (default: the code)


_LANGUAGES = (
    Language("ca", "Catalan", "latin", None, glossary="es"),  # the treebanks have the same labels
    Language("en", "English", "english", "en", "COLLINS"),
    Language("es", "Spanish", "latin", "es"),
    Language("fo", "Faroese", "latin", None, glossary="is"),  # likewise
    Language("id", "Indonesian", "latin", "id"),
    Language("is", "Icelandic", "latin", "is"),
    Language("ja", "Japanese", "characters", None),
    Language("pt", "Portuguese", "latin", "pt"),
    Language("zh", "Chinese", "chinese", "zh", "CHINESE"),
)
LANGUAGES = {language.code: language for language in _LANGUAGES}
CODES = {language.name: language.code for language in _LANGUAGES}  # by the name of the language
