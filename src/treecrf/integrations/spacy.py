"""The spaCy components: `nlp.add_pipe("treecrf")` parses, and `nlp.add_pipe("treecrf_sentences")` splits sentences.

spaCy imports this module with every pipeline, even if it has no such component. So the first component loads the parser
and registers the extension attributes, and the module does not.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Token
    from spacy.util import raise_error
except ImportError as error:
    raise ImportError("the spaCy components need spaCy: pip install 'treecrf[spacy]'") from error

if TYPE_CHECKING:
    from treecrf.trees.tree import Tree

Tags = Literal["keep", "predict"]


@dataclass(eq=False)
class TreeCRFComponent:
    """Parses the sentences of documents; `pipe` puts sentences of several documents into one batch.

    With `tags="keep"`, the trees have the tags of the pipeline, and the tags of the model for words without a tag. With
    `tags="predict"`, the trees have the tags of the model, and the document gets them too. Without `probabilities`,
    parsing is faster.
    """

    name: str
    model: str
    _: KW_ONLY
    device: str | None = None
    batch_words: int = 5000
    mbr: bool = True
    tags: Tags = "keep"
    probabilities: bool = True
    functions: bool = False  # whether labels have functions, such as NP-SBJ

    def __post_init__(self) -> None:
        self._error_handler: Callable[..., Any] = raise_error
        self._load()
        if self.tags == "predict" and (self._reads_tags or not self.parser.model_config.tag_head):
            reason = "has them as input" if self._reads_tags else "does not predict them"
            raise ValueError(
                f"'{self.name}' cannot predict tags: the model '{self.model}' {reason}; expected tags = 'keep'"
            )

    def _load(self) -> None:
        import treecrf.integrations.spacy_extensions  # noqa: F401  # registers the extension attributes
        from treecrf.parser import Parser

        self.parser: Parser = Parser.load(self.model, device=self.device)
        if self.functions:
            self.parser.full_tree_builder.check("functions")
        self._process_id = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        """The state without the parser, which another process loads again."""
        return {name: value for name, value in vars(self).items() if name != "parser"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load()

    @property
    def _reads_tags(self) -> bool:
        return self.parser.model_config.tag_size > 0

    def __call__(self, doc: Doc) -> Doc:
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parses documents of a stream, `batch_size` documents at a time."""
        documents = iter(stream)
        while batch := list(islice(documents, batch_size)):
            try:
                self._annotate(batch)
            except Exception as error:
                if len(batch) > 1:  # find the document that failed
                    yield from self.pipe(batch, batch_size=1)
                else:
                    self._error_handler(self.name, self, batch, error)
            else:
                yield from batch

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        self._error_handler = error_handler

    def _annotate(self, batch: Sequence[Doc]) -> None:
        from treecrf.integrations.spacy_extensions import remove_trees, store_tree

        self._limit_threads_after_fork()
        sentences = [words for doc in batch for words in self._sentences(doc)]
        results = list(self._parse(sentences))  # before the documents are changed: parsing may fail
        for doc in batch:
            remove_trees(doc)
        for words, (tree, probabilities) in zip(sentences, results, strict=True):
            store_tree(words, tree, probabilities)
            if self.tags == "predict":
                for word, tag in zip(words, tree.tags, strict=True):
                    word.tag_ = tag

    def _parse(self, sentences: Sequence[Sequence[Token]]) -> "Iterator[tuple[Tree, list[float]]]":
        """The tree of each sentence, and the probabilities of its constituents if they are requested."""
        words = [[word.text for word in sentence] for sentence in sentences]
        tags = [self._pipeline_tags(sentence) for sentence in sentences] if self.tags == "keep" else None
        settings: dict[str, Any] = {"batch_words": self.batch_words, "mbr": self.mbr, "functions": self.functions}
        if not self.probabilities:
            return ((tree, []) for tree in self.parser.parse_many(words, tags=tags, **settings))
        analyses = self.parser.analyze_many(words, k=0, tags=tags, **settings)
        return ((analysis.tree, [part.calibrated for part in analysis.constituents]) for analysis in analyses)

    def _limit_threads_after_fork(self) -> None:
        """Computes with one thread in a forked process, which has no copies of its parent's threads and would hang."""
        if os.getpid() != self._process_id:
            from treecrf.threads import set_num_threads

            set_num_threads(1)
            self._process_id = os.getpid()

    def _sentences(self, doc: Doc) -> Iterator[list[Token]]:
        """The words of each sentence, without white space; sentences without words are left out."""
        if not doc.has_annotation("SENT_START"):
            raise ValueError(
                f"the document {doc.text!r:.60} has no sentence boundaries; add a component that finds them, such as "
                f"nlp.add_pipe('sentencizer', before='{self.name}'), or make a document of one sentence with "
                "Doc(vocab, words=words, sent_starts=[True] + [False] * (len(words) - 1))"
            )
        for sentence in doc.sents:
            words = [token for token in sentence if not token.is_space]
            if words:
                yield words

    def _pipeline_tags(self, words: Sequence[Token]) -> list[str | None]:
        tags = [word.tag_ or None for word in words]
        if self._reads_tags and None in tags:
            word = words[tags.index(None)]
            raise ValueError(
                f"the model of '{self.name}' has tags as input, and token {word.i} ({word.text!r:.40}) of the document "
                f"has no tag; add a tagger before '{self.name}'"
            )
        return tags


@Language.factory(
    "treecrf",
    requires=["token.is_sent_start"],
    assigns=["doc._.trees", "doc._.tree_probabilities"]
    + [f"{kind}._.{name}" for kind in ("span", "token") for name in ("labels", "parse_string")],
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None = None,
    device: str | None = None,
    batch_words: int = 5000,
    mbr: bool = True,
    tags: Tags = "keep",
    probabilities: bool = True,
    functions: bool = False,
    subbatch_max_tokens: int | None = None,
    disable_tagger: bool | None = None,
) -> TreeCRFComponent:
    """Makes the component of a spaCy config; the default model has the name of the pipeline's language.

    `subbatch_max_tokens` and `disable_tagger` are benepar's names for `batch_words` and `tags`, and override them.
    """
    if disable_tagger is not None:
        tags = "keep" if disable_tagger else "predict"
    return TreeCRFComponent(
        name,
        model or str(nlp.lang),
        device=device,
        batch_words=subbatch_max_tokens or batch_words,
        mbr=mbr,
        tags=tags,
        probabilities=probabilities,
        functions=functions,
    )


class SentenceComponent:
    """Sets the sentence starts of documents, which `treecrf.text` finds in their texts."""

    def __init__(self, name: str, language: str) -> None:
        from treecrf.text import sentences

        self.name = name
        self.language = language
        sentences("", language=language)  # raises an error for an unknown language

    def __call__(self, doc: Doc) -> Doc:
        from treecrf.text import sentences_with_offsets

        if len(doc) and doc.has_annotation("DEP"):
            raise ValueError(
                f"the document {doc.text!r:.60} has dependencies, which determine its sentences; add '{self.name}' "
                "before the component that sets them, or leave that component out"
            )
        starts = iter([sentence.start for sentence in sentences_with_offsets(doc.text, language=self.language)][1:])
        start = next(starts, None)
        for token in doc:
            is_start = start is not None and not token.is_space and token.idx >= start
            token.is_sent_start = is_start or token.i == 0
            while start is not None and start <= token.idx:
                start = next(starts, None)
        return doc


@Language.factory("treecrf_sentences", assigns=["token.is_sent_start", "doc.sents"])
def make_sentence_component(nlp: Language, name: str, language: str | None = None) -> SentenceComponent:
    """Makes the component of a spaCy config; the default language is the pipeline's."""
    return SentenceComponent(name, language or str(nlp.lang))
