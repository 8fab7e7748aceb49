"""TreeDistribution: the interface of torch.distributions for distributions over the trees of a sentence."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.constraints import Constraint

from treecrf.chart import dispatch
from treecrf.chart.torch_backend import span_mask

Self = TypeVar("Self", bound="TreeDistribution")


class TreeDistribution(Distribution):
    """A distribution over trees for each sentence of a batch, which has any number of dimensions.

    A subclass gives the scores of the chart whose binary trees its trees correspond to. It sets its tensors and
    `lengths` as attributes and then calls `__init__`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _tensors: ClassVar[Sequence[str]]  # attributes that begin with the dimensions of the batch, besides `lengths`
    _settings: ClassVar[Sequence[str]] = ("_validate", "_is_constrained")  # attributes that do not depend on the batch
    _unit: ClassVar[str]  # that which constraints allow

    lengths: Tensor
    _validate: bool
    _is_constrained: bool  # whether a sentence may have no allowed tree, which is an error

    def __init__(self, fenceposts: int) -> None:
        super().__init__(self.lengths.shape, torch.Size((fenceposts, fenceposts)), validate_args=False)

    @property
    @abstractmethod
    def _chart_scores(self) -> Tensor:
        """Scores of spans (..., n + 1, n + 1), or with additional scores of right children (..., 2, n + 1, n + 1)."""

    @property
    def _dtype(self) -> torch.dtype:
        """The type of results, at least float32."""
        dtypes = [tensor.dtype for name in self._tensors if (tensor := getattr(self, name)) is not None]
        return reduce(torch.promote_types, dtypes, torch.float32)

    def _flat(self, *tensors: Tensor | None) -> list[Any]:
        return [None if tensor is None else dispatch.flatten(tensor, self.lengths) for tensor in tensors]

    @property
    @abstractmethod
    def argmax(self) -> Tensor:
        """The most probable tree."""

    @abstractmethod
    def _score(self, trees: Tensor) -> Tensor:
        """The scores of trees in float64."""

    @abstractmethod
    def cross_entropy(self: Self, other: Self) -> Tensor:
        """The cross-entropy of `other` relative to this distribution, in nats."""

    @abstractmethod
    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        """Random trees, (count, *batch, n + 1, n + 1)."""

    @cached_property
    def _inside(self) -> tuple[Tensor, Tensor]:
        """log Z in float64 and the inside chart."""
        log_z, chart = dispatch.LogPartition.apply(self._chart_scores, self.lengths)
        self._check_feasible(log_z)
        return log_z, chart

    @cached_property
    def _chart_marginals(self) -> Tensor:
        """The probabilities of spans, shaped like the scores of the chart."""
        scores = self._chart_scores
        if "_inside" in vars(self) or scores.requires_grad:
            marginals: Tensor = dispatch.Marginals.apply(scores, self.lengths, self._inside[1])
            return marginals
        chart, log_z, marginals = dispatch.InsideOutside.apply(scores, self.lengths)
        self._check_feasible(log_z)
        self._inside = log_z, chart
        return marginals

    def _check_feasible(self, log_z: Tensor) -> None:
        if self._is_constrained and (log_z == -torch.inf).any():
            sentence = position(int((log_z == -torch.inf).flatten().nonzero()[0]), self.batch_shape)
            raise ValueError(f"sentence {sentence}: the allowed {self._unit} form no tree; allow more {self._unit}")

    @property
    def log_partition(self) -> Tensor:
        """log Z: the log of the sum over all trees of their exponentiated scores, shaped like the batch."""
        return self._inside[0].to(self._dtype)

    def score(self, trees: Tensor) -> Tensor:
        """The scores of trees, (..., *batch)."""
        return self._score(trees).to(self._dtype)

    def log_prob(self, trees: Tensor) -> Tensor:
        """The log-probabilities of trees, (..., *batch); -inf for a tree that is not allowed."""
        return (self._score(trees) - self._inside[0]).to(self._dtype)

    @property
    def mode(self) -> Tensor:
        """The most probable tree."""
        return self.argmax

    @property
    def entropy(self) -> Tensor:  # type: ignore[override]  # a property, as in torch-struct and SuPar
        """The entropy in nats, shaped like the batch."""
        return self.cross_entropy(self)

    def kl(self: Self, other: Self) -> Tensor:
        """The Kullback-Leibler divergence of this distribution from `other`, in nats, shaped like the batch."""
        return self.cross_entropy(other) - self.entropy

    def sample(self, sample_shape: int | Sequence[int] = (), *, generator: torch.Generator | None = None) -> Tensor:
        """Random trees of each sentence, (*sample_shape, *batch, n + 1, n + 1)."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        _ = self._inside  # raises an error if a sentence has no tree
        try:
            trees = self._sample(math.prod(shape), generator)
        except RuntimeError as error:
            if "vmap" not in str(error):
                raise
            raise RuntimeError(f"no trees can be sampled in torch.func.vmap; {dispatch.WITHOUT_VMAP}") from error
        return trees.reshape(*shape, *trees.shape[1:])

    def expand(self: Self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with a larger batch, which repeats it without copying its scores."""
        shape = torch.Size(batch_shape)
        return self._copy(lambda tensor, batch_dims: tensor.expand(*shape, *tensor.shape[batch_dims:]))

    def __getitem__(self: Self, index: Any) -> Self:
        """The distributions of some sentences; `index` is any index of a tensor with the shape of the batch."""
        sentences = torch.arange(self.lengths.numel(), device=self.lengths.device).view(self.batch_shape)[index]
        return self._copy(lambda tensor, batch_dims: dispatch.flatten(tensor, self.lengths)[sentences])

    def to(self: Self, *args: Any, **options: Any) -> Self:
        """The same distribution on another device or with another type of scores; takes what `Tensor.to` takes."""
        device = torch.empty(0, device=self.lengths.device).to(*args, **options).device

        def convert(tensor: Tensor, batch_dims: int) -> Tensor:
            return tensor.to(*args, **options) if tensor.is_floating_point() else tensor.to(device)

        return self._copy(convert)

    def _copy(self: Self, change: Callable[[Tensor, int], Tensor]) -> Self:
        """A distribution with changed tensors; `change` gets a tensor and the number of its batch dimensions."""
        copy = type(self).__new__(type(self))
        for name in self._settings:
            setattr(copy, name, getattr(self, name))
        for name in ("lengths", *self._tensors):
            tensor = getattr(self, name)
            setattr(copy, name, None if tensor is None else change(tensor, self.lengths.dim()))
        TreeDistribution.__init__(copy, self.event_shape[0])
        return copy

    def __repr__(self) -> str:
        shape, words = tuple(self.batch_shape), self.event_shape[0] - 1
        return f"{type(self).__name__}(batch_shape={shape}, words={words}, device={self.lengths.device})"

    def _check_pair(self, other: "TreeDistribution") -> None:
        if self.event_shape != other.event_shape or not torch.equal(self.lengths, other.lengths):
            raise ValueError(
                f"the other distribution is {other} with lengths {other.lengths.tolist()}; "
                f"expected {self} with {self.lengths.tolist()}"
            )


def first_invalid_tree(charts: Tensor, lengths: Tensor) -> int | None:
    """The number of the first chart, (..., *batch, n + 1, n + 1), whose spans are not exactly one binary tree.

    The 2n - 1 spans of a binary tree are all in one tree, which CKY finds.
    """
    lengths = lengths.expand(charts.shape[:-2])
    common = dispatch.cky(charts.float(), lengths) & charts
    is_wrong = (common.sum((-1, -2)) != 2 * lengths - 1) | (charts.sum((-1, -2)) != 2 * lengths - 1)
    return int(is_wrong.flatten().nonzero()[0]) if is_wrong.any() else None


def position(flat_index: int, batch_shape: Sequence[int]) -> str:
    """The index of a sentence in its batch, for messages: `3`, or `1, 3` with two batch dimensions."""
    index = [int(part) for part in torch.unravel_index(torch.tensor(flat_index), tuple(batch_shape))]
    return ", ".join(map(str, index)) or "0"


def check_tensor(
    name: str, tensor: object, shape: Sequence[int] | None = None, dtype: torch.dtype | None = None
) -> None:
    """Checks the shape of a tensor, and its type: floating point by default."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{name} are {type(tensor).__name__}; expected a torch.Tensor, as torch.as_tensor({name}) gives"
        )
    if (tensor.dtype != dtype if dtype else not tensor.is_floating_point()) or (shape and tensor.shape != shape):
        raise ValueError(
            f"{name} are {tuple(tensor.shape)} of {tensor.dtype}; expected {dtype or 'floating point'}"
            + (f" of the shape {tuple(shape)}" if shape else "")
        )


def check_chart(name: str, scores: Tensor) -> None:
    """Checks that scores are charts by fencepost."""
    check_tensor(name, scores)
    shape = tuple(scores.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2 or not scores.numel():
        raise ValueError(
            f"{name} are {shape}; expected (..., n + 1, n + 1) for at most n words, after batch dimensions"
        )


def check_lengths(lengths: Tensor | Sequence[int], scores: Tensor) -> Tensor:
    """Lengths as a tensor on the device of scores, one for each chart."""
    tensor = torch.as_tensor(lengths)
    if tensor.shape != scores.shape[:-2] or tensor.is_floating_point():
        raise ValueError(
            f"lengths are {tuple(tensor.shape)} of {tensor.dtype}; expected integers of the shape of the batch, "
            f"{tuple(scores.shape[:-2])}"
        )
    return tensor.to(scores.device, torch.int64).contiguous()


def check_values(scores: Tensor, lengths: Tensor) -> bool:
    """Checks the lengths and the scores inside the sentences; returns whether any score is -inf."""
    size = scores.shape[-1]
    try:
        flat_lengths = lengths.flatten().tolist()
        low, high = torch.stack(torch.aminmax(scores.detach())).tolist()
    except RuntimeError as error:
        raise RuntimeError("values cannot be checked inside torch.func.vmap; pass validate=False") from error
    for sentence, length in enumerate(flat_lengths):
        if not 1 <= length < size:
            raise ValueError(
                f"sentence {position(sentence, lengths.shape)}: length {length}; expected 1 to {size - 1}, the number "
                "of words that scores has"
            )
    if not high < torch.inf:
        _check_finite(scores, lengths)
    return not low > -torch.inf


def _check_finite(scores: Tensor, lengths: Tensor) -> None:
    flat = dispatch.flatten(scores, lengths)
    is_span = span_mask(lengths.reshape(-1), scores.shape[-1])
    for charts in flat.unbind(1) if flat.dim() == 4 else [flat]:
        invalid = (~(charts < torch.inf) & is_span).nonzero()
        if len(invalid):
            sentence, start, end = invalid[0].tolist()
            raise ValueError(
                f"sentence {position(sentence, lengths.shape)}: the score of span ({start}, {end}) is "
                f"{charts[sentence, start, end].item()}; expected a finite number, or -inf for a forbidden span"
            )
