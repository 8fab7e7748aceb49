"""Distillation: trained parsers as teachers, whose probabilities another parser learns beside the gold trees.

Students of the same trees can read the probabilities from one file, so that teachers score each sentence once.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from treecrf.network.data.bucketing import Budget, sorted_batches
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.losses import SoftTargets, SoftTargetStore
from treecrf.parser import Parser
from treecrf.training.conditions import Conditions, Told
from treecrf.training.config import TrainConfig
from treecrf.training.data_loader import Corpus, prefetch_in_thread

_TOLD, _DIGEST = "told", "digest"  # tensors of a file of soft targets beside the probabilities
_PREFETCH_CHUNKS = 3
_CHUNK_WORDS = 20_000  # words per batch for teachers, which need no memory for gradients


def load_teachers(folders: Sequence[str], student: Parser) -> list[Parser]:
    """Loads parsers from folders; they must have the labels and tags of the student."""
    teachers = []
    for folder in folders:
        teacher = Parser.load(folder, student.device, precision="float32")
        _check_teacher(folder, teacher, student)
        teacher.model.requires_grad_(False).eval()
        teachers.append(teacher)
    return teachers


def _check_teacher(folder: str, teacher: Parser, student: Parser) -> None:
    if teacher.model_config.loss == "one-stage-margin":
        raise ValueError(f"{folder} has a max-margin loss and no probabilities; expected a teacher with a CRF loss")
    for name in ("labels", "tags"):
        theirs, ours = (set(getattr(parser.vocabulary, name)) for parser in (teacher, student))
        if theirs != ours:
            some = ", ".join(sorted(theirs ^ ours)[:5])
            raise ValueError(
                f"{folder} has other {name} than its student: {len(theirs ^ ours)} are in one of them only ({some}); "
                "expected a teacher that was trained on the same treebanks"
            )


@torch.no_grad()
def compute_soft_targets(
    teachers: Sequence[Parser],
    student: Parser,
    corpus: Corpus,
    config: TrainConfig,
    taught: Sequence[bool] | None,
    conditions: Conditions | None = None,
) -> SoftTargetStore:
    """Scores every training sentence by all teachers, and stores their mean probabilities on the student's device.

    Each teacher reads the sentences with its own vocabulary and subwords. It reads them in their original case, also
    where the student reads them in lower case. The targets of sentences that are not `taught` are their gold trees.
    If all teachers read the conditions of the student, they are told what it may be told; otherwise, the targets of a
    sentence with conditions are its gold tree.
    """
    read_by = {(each.model_config.tag_conditions, each.model_config.schemes) for each in (student, *teachers)}
    told = None
    if conditions is not None and len(read_by) == 1:
        told = [conditions.known(number) for number in range(len(corpus.words))]
    has_tags = any(teacher.model_config.tag_head for teacher in teachers) and student.model_config.tag_head
    try:
        store = SoftTargetStore(
            corpus.lengths,
            labels=len(student.vocabulary.labels),
            tags=len(student.vocabulary.tags) if has_tags else 0,
            distillation_weight=config.distillation_weight,
            device=torch.device(student.device),
            told=None if told is None else list(map(_is_told, told)),
        )
        budget = Budget(words=min(_CHUNK_WORDS, 4 * config.batch_words), cells=config.batch_cells)
        chunks = (chunk for sentences in _told_sentences(corpus, told) for chunk in _chunks(sentences, corpus, budget))
        batches = ((chunk, _collate(teachers, corpus, chunk)) for chunk in chunks)
        for chunk, teacher_batches in prefetch_in_thread(batches, _PREFETCH_CHUNKS):
            _score_chunk(teachers, teacher_batches, list(chunk), store, config, taught)
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"the soft targets of {len(corpus.lengths):,} sentences do not fit into GPU memory; train on fewer "
            "sentences (data.train), or reduce train.batch_cells"
        ) from error
    return store


def _is_told(sentence: Told) -> bool:
    return bool(sentence.scheme) or any(sentence.tags)


def _told_sentences(corpus: Corpus, told: Sequence[Told] | None) -> Iterator[dict[int, Told]]:
    """What teachers are told of sentences, by number: of all sentences nothing, then schemes, then tags as well."""
    nothing = [Told(words, [None] * len(words), 0) for words in corpus.words]
    yield dict(enumerate(nothing))
    if told is not None:
        yield {number: each._replace(tags=nothing[number].tags) for number, each in enumerate(told) if each.scheme}
        yield {number: each for number, each in enumerate(told) if any(each.tags)}


def _chunks(sentences: dict[int, Told], corpus: Corpus, budget: Budget) -> Iterator[dict[int, Told]]:
    numbers = list(sentences)
    for places in sorted_batches([corpus.lengths[number] for number in numbers], budget=budget):
        yield {numbers[place]: sentences[numbers[place]] for place in places}


def _collate(teachers: Sequence[Parser], corpus: Corpus, told: Mapping[int, Told]) -> list[TensorBatch]:
    """The batch of some sentences for each teacher."""
    batches, indices = [], list(told)
    words = [corpus.words[index] for index in indices]
    for teacher in teachers:
        reads_tags = teacher.model_config.tag_size > 0
        conditions = list(told.values()) if teacher.model_config.has_conditions else None
        batch = corpus.collate(words, indices, teacher.numericalizer, read_tags=reads_tags, told=conditions)
        batches.append(TensorBatch.from_host(batch, pin_memory=teacher.device.startswith("cuda")))
    return batches


def _score_chunk(
    teachers: Sequence[Parser],
    batches: Sequence[TensorBatch],
    indices: list[int],
    store: SoftTargetStore,
    config: TrainConfig,
    taught: Sequence[bool] | None,
) -> None:
    all_scores = []
    for teacher, host_batch in zip(teachers, batches, strict=True):
        batch = host_batch.to(teacher.device)
        with torch.autocast(batch.device.type, torch.bfloat16, enabled=config.precision == "bf16"):
            all_scores.append(teacher.model(batch))
    targets = SoftTargets.from_scores(all_scores, batch, distillation_weight=config.distillation_weight)
    if taught is not None:
        is_gold = torch.tensor([not taught[index] for index in indices], device=batch.device)
        targets = targets.with_gold_trees(batch, is_gold)
    store.write(batch, targets)


def save_soft_targets(path: Path, store: SoftTargetStore, student: Parser, corpus: Corpus) -> None:
    """Writes soft targets for other students of the same sentences, trees, labels and tags."""
    told = [] if store.told is None else list(store.told)
    described = {_TOLD: torch.tensor(told, dtype=torch.bool), _DIGEST: _corpus_digest(student, corpus)}
    tensors = {name: tensor.cpu() for name, tensor in store.tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({**tensors, **described}, path)


def load_soft_targets(config: TrainConfig, student: Parser, corpus: Corpus) -> SoftTargetStore:
    """Reads what `save_soft_targets` wrote to `config.soft_targets`."""
    if not Path(config.soft_targets).is_file():
        raise FileNotFoundError(
            f"there is no file {config.soft_targets} (train.soft_targets); recipes/models/soft_targets.py writes it"
        )
    tensors = load_file(config.soft_targets, student.device)
    if _DIGEST not in tensors or not torch.equal(tensors[_DIGEST].cpu(), _corpus_digest(student, corpus)):
        raise ValueError(
            f"{config.soft_targets} has the soft targets of other sentences, trees, labels or tags than the training "
            "data; write the file again, or leave train.soft_targets out"
        )
    told = tensors[_TOLD].tolist()
    store = SoftTargetStore(
        corpus.lengths,
        labels=len(student.vocabulary.labels),
        tags=len(student.vocabulary.tags) if "tags" in tensors else 0,
        distillation_weight=config.distillation_weight,
        device=torch.device(student.device),
        told=told or None,
    )
    for name, tensor in store.tensors.items():
        tensor.copy_(tensors.pop(name))
    return store


def _corpus_digest(student: Parser, corpus: Corpus) -> torch.Tensor:
    """A digest of everything that the place and the meaning of soft targets depend on."""
    digest = hashlib.sha256(repr((student.vocabulary.labels, student.vocabulary.tags, corpus.words)).encode())
    for tree in corpus.gold:
        digest.update(tree.starts.tobytes() + tree.ends.tobytes())
    return torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)
