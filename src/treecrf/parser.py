"""The parser: a network with its vocabulary, from words to trees."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, starmap
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from treecrf.batching import Budget, sorted_batches
from treecrf.checkpoint import DamagedFileError, load_folder, pack, save_folder
from treecrf.cnf import from_spans
from treecrf.config import read_config, to_toml
from treecrf.data import Vocabulary
from treecrf.encode import Encoder
from treecrf.nn import Decoded, ModelConfig, SpanModel, decode
from treecrf.nn.transformer import build_encoder, save_encoder_config
from treecrf.pieces import WordPieces
from treecrf.tree import Span, Tree

CONFIG, VOCABULARY, WEIGHTS = "config.toml", "vocabulary.json", "model.safetensors"
_MODELS = Path(__file__).parent / "models"
_WINDOW = 4096  # sentences that are sorted by length before they are cut into batches
_NO_TAG = "_"  # the tag of words that nobody tagged


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """What a saved parser is, besides its vocabulary and weights."""

    root: str = "TOP"
    model: ModelConfig = field(default_factory=ModelConfig)


class Sentence(NamedTuple):
    """Words to parse, perhaps with their tags."""

    words: Sequence[str]
    tags: Sequence[str] | None = None


class Parser:
    """Parses sentences, one or many, on the device that its model is on."""

    def __init__(
        self, model: SpanModel, vocabulary: Vocabulary, *, root: str = "TOP", pieces: WordPieces | None = None
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.root = root
        self.encoder = Encoder(vocabulary, characters=model.config.char_size > 0, pieces=pieces)
        self._pieces = pieces

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @staticmethod
    def load(source: str | Path, device: str | torch.device | None = None) -> "Parser":
        """The parser that `save` wrote into a folder, or one that came with the package, by its name.

        It runs on a GPU if there is one, unless `device` says otherwise. Nothing in the folder is ever executed.
        """
        folder = _find(source)
        files = load_folder(folder)
        for name in (CONFIG, VOCABULARY, WEIGHTS):
            if name not in files:
                raise DamagedFileError(f"{folder} holds no parser: there is no {name} in its manifest")
        config = read_config(ParserConfig, folder / CONFIG)
        vocabulary = _read_vocabulary(folder / VOCABULARY, files[VOCABULARY])
        encoder = build_encoder(folder) if config.model.transformer else None
        with torch.device("meta"):  # weights come from the file: to draw them at random first would take a second
            model = SpanModel(config.model, vocabulary.sizes, encoder=encoder)
        _load_weights(model, files[WEIGHTS], folder / WEIGHTS)
        pieces = WordPieces.load(folder) if config.model.transformer else None
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return Parser(model.to(place).eval(), vocabulary, root=config.root, pieces=pieces)

    def save(self, folder: str | Path) -> None:
        """Write everything that `load` needs into a folder; one that is there is replaced at once or not at all."""
        config = ParserConfig(root=self.root, model=self.model.config)
        files = {
            CONFIG: to_toml(config).encode(),
            VOCABULARY: json.dumps(self.vocabulary.to_dict(), ensure_ascii=False).encode(),
            WEIGHTS: pack(self.model.state_dict()),
        }
        save_folder(Path(folder), self._encoder_files() | files)

    def _encoder_files(self) -> dict[str, bytes]:
        if self.model.transformer is None or self._pieces is None:
            return {}
        with tempfile.TemporaryDirectory() as scratch:
            self._pieces.save(scratch)
            save_encoder_config(self.model.transformer.encoder, scratch)
            return {path.name: path.read_bytes() for path in sorted(Path(scratch).iterdir())}

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None, mbr: bool = True) -> Tree:
        """The tree of one sentence, given as its words."""
        (tree,) = self.parse_many([words], tags=None if tags is None else [tags], mbr=mbr)
        return tree

    def parse_many(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        tags: Iterable[Sequence[str]] | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
    ) -> Iterator[Tree]:
        """The trees of sentences, each given as its words, in their order.

        Sentences are read as trees are asked for, some thousands ahead. Given `tags` stand in the trees, and are what
        a model that reads tags reads; without them, those that the model predicts, if it does.
        """
        self.model.eval()
        given = map(Sentence, sentences) if tags is None else starmap(Sentence, zip(sentences, tags, strict=True))
        start = 0
        while window := list(islice(given, _WINDOW)):
            self._check(window, start)
            yield from self._parse_window(window, batch_words=batch_words, mbr=mbr)
            start += len(window)

    def _check(self, window: list[Sentence], start: int) -> None:
        for number, sentence in enumerate(window, start):
            if isinstance(sentence.words, str):
                raise TypeError(f"sentence {number} is a string, {sentence.words!r:.60}; expected a list of its words")
            if not sentence.words:
                raise ValueError(f"sentence {number} has no words; expected at least one")
            if sentence.tags is None and self.model.config.tag_size:
                raise ValueError(f"sentence {number} has no tags and the model reads them; give them as `tags`")
            if sentence.tags is not None and len(sentence.tags) != len(sentence.words):
                raise ValueError(
                    f"sentence {number} has {len(sentence.words)} words and {len(sentence.tags)} tags; "
                    "expected a tag for each word"
                )

    def _parse_window(self, window: list[Sentence], *, batch_words: int, mbr: bool) -> list[Tree]:
        lengths = [len(sentence.words) for sentence in window]
        trees: dict[int, Tree] = {}
        batches = sorted_batches(lengths, budget=Budget(words=batch_words))
        running: tuple[list[int], Decoded] | None = (
            None  # the device works on a batch while trees of the last are built
        )
        for members in batches:
            started = members, self._start([window[member] for member in members], mbr=mbr)
            if running is not None:
                trees.update(self._trees(window, *running))
            running = started
        if running is not None:
            trees.update(self._trees(window, *running))
        return [trees[number] for number in range(len(window))]

    @torch.no_grad()
    def _start(self, sentences: list[Sentence], *, mbr: bool) -> Decoded:
        tags = [sentence.tags for sentence in sentences if sentence.tags is not None]
        batch = self.encoder.collate(
            [sentence.words for sentence in sentences], tags=tags if self.model.config.tag_size else None
        )
        return decode(self.model(batch.to(self.device)), mbr=mbr)

    def _trees(self, window: list[Sentence], members: list[int], decoded: Decoded) -> Iterator[tuple[int, Tree]]:
        decoded = decoded.cpu()
        starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
        labels = [self.vocabulary.labels[label] for label in decoded.labels.tolist()]
        tags = None if decoded.tags is None else [self.vocabulary.tags[tag] for tag in decoded.tags.tolist()]
        spans = map(Span, starts, ends, labels)
        word = 0
        for member in members:
            words, given = window[member]
            predicted = [_NO_TAG] * len(words) if tags is None else tags[word : word + len(words)]
            leaves = [Tree(tag, (form,)) for tag, form in zip(given or predicted, words, strict=True)]
            yield member, from_spans(islice(spans, 2 * len(words) - 1), leaves, self.root)
            word += len(words)


def _find(source: str | Path) -> Path:
    folder = Path(source)
    if folder.is_dir():
        return folder
    known = sorted(path.name for path in _MODELS.iterdir() if path.is_dir()) if _MODELS.is_dir() else []
    if str(source) in known:
        return _MODELS / source
    raise FileNotFoundError(
        f"there is no model '{source}': no folder has that name"
        + (f", and the models that came with treecrf are {', '.join(known)}" if known else "")
    )


def _read_vocabulary(path: Path, data: bytes) -> Vocabulary:
    try:
        return Vocabulary.from_dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is no vocabulary: {error}") from None


def _load_weights(model: SpanModel, data: bytes, path: Path) -> None:
    try:
        tensors = load_tensors(data)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
    expected = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: list(tensor.shape) for name, tensor in tensors.items()}
    wrong = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if wrong:
        raise DamagedFileError(
            f"{path} does not hold the weights of this model: '{wrong[0]}' has shape {found.get(wrong[0], 'none')}, "
            f"expected {expected.get(wrong[0], 'none')}; {len(wrong)} of {len(expected)} differ"
        )
    weights = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    model.load_state_dict(weights, strict=True, assign=True)
