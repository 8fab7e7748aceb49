"""The parser as a component of spaCy pipelines: `nlp.add_pipe("treecrf")`.

spaCy imports this module with every pipeline, whether it parses or not: what takes time, and the names that trees have
in `doc._`, come with the first component.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Token
    from spacy.util import raise_error
except ImportError as error:
    raise ImportError("the spaCy component needs spaCy: pip install 'treecrf[spacy]'") from error

Tags = Literal["keep", "predict"]


class TreeCRFComponent:
    """Parses the sentences of documents, in `pipe` those of many documents together.

    `tags` says whose part-of-speech tags stand in the trees: the pipeline's, which it keeps, or the model's, which it
    then sets. Words without a tag of the pipeline have the model's in the tree, and none still in the document.
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        device: str | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
        tags: Tags = "keep",
    ) -> None:
        self.name = name
        self.model = model
        self.device = device
        self.batch_words = batch_words
        self.mbr = mbr
        self.tags = tags
        self._error_handler: Callable[..., Any] = raise_error
        self._load()
        if tags == "predict" and (self._reads_tags or not self.parser.model.config.tag_head):
            does = "reads them" if self._reads_tags else "has not learned to"
            raise ValueError(f"'{name}' is to predict tags, and its model '{model}' {does}; expected tags = 'keep'")

    def _load(self) -> None:
        import treecrf.integrations.spacy_extensions  # noqa: F401  # which gives trees their names
        from treecrf.parser import Parser

        self.parser: Parser = Parser.load(self.model, device=self.device)
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to load the same model."""
        return {name: value for name, value in vars(self).items() if name != "parser"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load()

    @property
    def _reads_tags(self) -> bool:
        return self.parser.model.config.tag_size > 0

    def __call__(self, doc: Doc) -> Doc:
        """Parse one document."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse documents as they come, `batch_size` of them at a time."""
        documents = iter(stream)
        while batch := list(islice(documents, batch_size)):
            try:
                self._annotate(batch)
            except Exception:  # one of them must not take the others with it
                yield from self._one_by_one(batch)
            else:
                yield from batch

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        """Let the pipeline say what becomes of documents that cannot be parsed."""
        self._error_handler = error_handler

    def _one_by_one(self, batch: list[Doc]) -> Iterator[Doc]:
        for doc in batch:
            try:
                self._annotate([doc])
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)
            else:
                yield doc

    def _annotate(self, batch: Sequence[Doc]) -> None:
        from treecrf.integrations.spacy_extensions import forget, store

        self._mind_the_fork()
        sentences = [words for doc in batch for words in self._sentences(doc)]
        analyses = self.parser.analyze_many(
            [[word.text for word in words] for words in sentences],
            k=0,
            tags=[self._tags(words) for words in sentences] if self.tags == "keep" else None,
            batch_words=self.batch_words,
            mbr=self.mbr,
        )
        found = list(analyses)
        for doc in batch:
            forget(doc)
        for words, analysis in zip(sentences, found, strict=True):
            store(words, analysis.tree, [constituent.probability for constituent in analysis.constituents])
            if self.tags == "predict":
                for word, tag in zip(words, analysis.tree.tags, strict=True):
                    word.tag_ = tag

    def _mind_the_fork(self) -> None:
        """A forked process has none of the threads that its parent computes with, and would wait for them forever."""
        if os.getpid() != self._process:
            import torch

            torch.set_num_threads(1)
            self._process = os.getpid()

    def _sentences(self, doc: Doc) -> Iterator[list[Token]]:
        """The words of sentences; white space is none, and a sentence of nothing else is left out."""
        if not doc.has_annotation("SENT_START"):
            raise ValueError(
                f"'{self.name}' parses sentences, and the document {doc.text!r:.60} does not say where they start; add "
                f"a component that does, such as nlp.add_pipe('sentencizer', before='{self.name}'), or make a document "
                "of one sentence with Doc(vocab, words=words, sent_starts=[True] + [False] * (len(words) - 1))"
            )
        for sentence in doc.sents:
            words = [token for token in sentence if not token.is_space]
            if words:
                yield words

    def _tags(self, words: Sequence[Token]) -> list[str | None]:
        tags = [word.tag_ or None for word in words]
        if self._reads_tags and None in tags:
            word = words[tags.index(None)]
            raise ValueError(
                f"the model of '{self.name}' reads tags, and token {word.i} ({word.text!r:.40}) of the document has "
                f"none; add a tagger before '{self.name}'"
            )
        return tags


@Language.factory(
    "treecrf",
    requires=["token.is_sent_start"],
    assigns=["doc._.trees", "span._.labels", "span._.parse_string", "token._.labels", "token._.parse_string"],
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None = None,
    device: str | None = None,
    batch_words: int = 5000,
    mbr: bool = True,
    tags: Tags = "keep",
    subbatch_max_tokens: int | None = None,
    disable_tagger: bool | None = None,
) -> TreeCRFComponent:
    """The component that a config describes. Without a model, it is the one named like the pipeline's language.

    `subbatch_max_tokens` and `disable_tagger` are benepar's names for `batch_words` and `tags`, and override them.
    """
    if disable_tagger is not None:
        tags = "keep" if disable_tagger else "predict"
    words = subbatch_max_tokens or batch_words
    return TreeCRFComponent(name, model or str(nlp.lang), device=device, batch_words=words, mbr=mbr, tags=tags)
