"""Trains the empty elements of a packed model, whose network stays as it is.

    python recipes/models/train_empties.py MODEL OUT SCHEME=TREES[:N] ... [--epochs N]

MODEL and OUT are folders of models; they may be the same. TREES has full trees, of which at most N are drawn at
random. The schemes of CRAFT and GENIA say less than the one of MASC: where they leave the antecedent of a subject open,
or write `*` for `*PRO*`, the loss is the probability of all templates that agree. Elements that GENIA uses in its own
way (`*RNR*`, `*?*`) are left out. Some sentences are also turned into reported speech, and some noun phrases into
amounts of money, because newspapers have many and these treebanks few.
"""

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save as to_safetensors
from torch import Tensor, nn

from treecrf.arrays import AnyArray, Floats, Ints, Mask
from treecrf.network.nn.constituent_scorer import ConstituentScorer
from treecrf.parser import Parser
from treecrf.parser.decoding.antecedents import to_templates
from treecrf.parser.decoding.constituent_features import Features, Symbols
from treecrf.parser.decoding.constituents import DecodedBatch, FullTrees, LabelChains
from treecrf.parser.decoding.empties import CONTEXTS, TEMPLATES
from treecrf.parser.decoding.gaps import EXTRA_SYMBOLS, SYMBOLS, WORDS, context_codes, find_gaps
from treecrf.parser.models.model_folder import save_folder
from treecrf.parser.storage import COMPONENTS, read_files
from treecrf.trees.search.heads import COLLINS
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.reader import read_trees

FUNCTIONS = ("SBJ", "PRD")  # functions of inserted constituents; others are too rare
LEAST_TEMPLATE, LEAST_CONTEXT = 5, 2  # counts in training
WEIGHTS = {"masc": 2.0}  # weight of a gap in the loss; others: 1
SIZE, RATE = 96, 2e-3
BLOCK, BATCH = 64, 16  # gaps that stand beside each other share words; blocks of a batch
BIAS = 0.5  # subtracted from the score of nothing, for the best F on dev
REPORTED, AMOUNTS = 0.08, 0.08  # sentences that are changed, per sentence
PLACE = re.compile("@[^)]*")
SPEAKERS = ["he", "she", "they", "analysts", "officials", "the company", "a spokesman", "Mr. Smith", "traders"]
SPEECH = ["said", "says", "added", "noted", "argued", "believes", "told reporters", "predicted", "thinks", "wrote"]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Gaps of full trees with their templates; the empty template is nothing."""

    scheme: str
    features: Features
    templates: list[str]
    vectors: Floats

    @property
    def filled_symbols(self) -> Ints:
        """The symbols of the gaps that have a template."""
        return self.features.symbols[[bool(name) for name in self.templates]]

    def select(self, rows: Ints, templates: list[str]) -> "Examples":
        features = Features(*(column[rows] for column in self.features))
        return Examples(scheme=self.scheme, features=features, templates=templates, vectors=self.vectors)


def amount(rng: random.Random) -> str:
    """The brackets of an amount of money."""
    number = rng.choice(["5", "12", "35.2", "100", "250,000", "1.5", "700", f"{rng.randrange(2, 999)}"])
    unit = rng.choice(["million", "billion", ""])
    money = f"(QP ($ $) (CD {number}) (CD {unit}))" if unit else f"($ $) (CD {number})"
    if unit and rng.random() < 0.3:
        money = f"(QP {rng.choice(['(IN about)', '(RBR more) (IN than)', '(RB nearly)'])}{money[3:]}"
    return f"{money} (-NONE- *U*)"


def with_amounts(tree: Tree, rng: random.Random) -> Tree:
    """The tree with amounts for a third of its noun phrases that have only words."""

    def change(node: Tree, children: list[Tree]) -> Tree:
        is_simple = node.category == "NP" and all(child.is_leaf and not child.is_empty for child in children)
        if not is_simple or not children or rng.random() < 0.67:
            return Tree(node.label, children) if children else node
        text = amount(rng)
        if rng.random() < 0.25:
            return Tree.parse(f"(NP (DT a) (ADJP {text}) {children[-1]})")
        return Tree.parse(f"({node.label} {text})")

    return tree.fold(change)


def as_report(tree: Tree, rng: random.Random) -> Tree | None:
    """The sentence as reported speech, before or around the speaker; None if it is not a clause with a full stop."""
    clause = tree.child_trees[0]
    children = clause.child_trees
    if len(tree.child_trees) > 1 or clause.label != "S" or len(children) < 3 or children[-1].label != ".":
        return None
    *parts, stop = map(str, children)
    subject = " ".join(f"(NN {word})" for word in rng.choice(SPEAKERS).split())
    verb, *person = rng.choice(SPEECH).split()
    person_phrase = f" (NP {' '.join(f'(NNS {word})' for word in person)})" if person else ""
    is_quoted = rng.random() < 0.4
    trace = "(S (-NONE- *T*-99))" if is_quoted else "(SBAR (-NONE- 0) (S (-NONE- *T*-99)))"
    phrase, speaker = f"(VP (VBD {verb}){person_phrase} {trace})", f"(NP-SBJ {subject})"
    said = f"{phrase} {speaker}" if rng.random() < 0.25 and not person else f"{speaker} {phrase}"
    if rng.random() < 0.25:  # "the vote , he says , failed"
        place = rng.randrange(1, len(parts))
        parenthesis = f"(PRN (, ,) (S {said}) (, ,))"
        return Tree.parse(f"(TOP (S-99 {' '.join(parts[:place])} {parenthesis} {' '.join(parts[place:])} {stop}))")
    marks = ("(`` ``) ", " ('' '')") if is_quoted else ("", "")
    return Tree.parse(f"(TOP (S {marks[0]}(S-TPC-99 {' '.join(parts)}) (, ,){marks[1]} {said} {stop}))")


def add_newspaper_style(trees: list[Tree], rng: random.Random) -> list[Tree]:
    """The trees, and some of them once more as reported speech and with amounts of money."""
    reports = (as_report(tree, rng) for tree in rng.sample(trees, int(len(trees) * REPORTED)))
    amounts = (with_amounts(tree, rng) for tree in rng.sample(trees, int(len(trees) * AMOUNTS)))
    return [*trees, *filter(None, reports), *amounts]


def read_vectors(model: Parser, sentences: Sequence[Sequence[str]]) -> Floats:
    """The vectors of all words, (w, d)."""
    window = model.reader.window(sentences)
    vectors: dict[int, Floats] = {}
    for indices in window.batches(model.batching.budget):
        batch = window.select(indices)
        scores = model.batch_scorer(batch)
        assert scores.word_vectors is not None
        parts = np.split(scores.word_vectors().astype(np.float16), np.cumsum(scores.lengths)[:-1])
        vectors.update(zip(indices, parts, strict=True))
    return np.concatenate([vectors[index] for index in range(len(window))])


def read_examples(scheme: str, trees: list[Tree], vectors: Floats, symbols: Symbols, categories: list[str]) -> Examples:
    """All gaps of full trees."""
    full = FullTrees.of(trees, categories)
    templates: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for row in to_templates(full, FUNCTIONS):
        templates[row.constituent, row.position].append(row.brackets)
    words, tags = ([name for tree in trees for name in getattr(tree, names)] for names in ("words", "tags"))
    batch = DecodedBatch(constituents=full.constituents, words=words, tags=tags, vectors=vectors, rules=COLLINS)
    gaps = find_gaps(batch, symbols)
    places = zip(gaps.constituents.tolist(), gaps.positions.tolist(), strict=True)
    names = [" ".join(templates.get(place, ())) for place in places]
    return Examples(scheme=scheme, features=gaps.features, templates=names, vectors=vectors)


@cache
def alternatives(scheme: str, template: str, classes: frozenset[str]) -> frozenset[str]:
    """The classes for which a template of a scheme may stand; none if the gap is not to be trained."""
    if scheme == "genia" and ("*RNR*" in template or "*?*" in template):
        return frozenset()
    names = {template}
    if scheme == "genia" and "NP-SBJ (-NONE- *)" in re.sub(PLACE, "", template):
        names.add(re.sub(r"(NP-SBJ \(-NONE- \*)(?=[)@])", r"\1PRO*", template))
    is_open = scheme in ("craft", "genia") and "NP-SBJ (-NONE- *" in template and "@" not in template
    if is_open or not names & classes:
        kinds = {re.sub(PLACE, "", name) for name in names}
        names |= {name for name in classes if re.sub(PLACE, "", name) in kinds}
    return frozenset(names & classes)


def fit(parts: Sequence[Examples], symbols: Symbols, epochs: int) -> dict[str, AnyArray]:
    """The arrays of `EmptyElements`."""
    filled = (context_codes(part.filled_symbols, symbols.size) for part in parts)
    codes, code_counts = np.unique(np.concatenate(list(filled)), return_counts=True)
    contexts = codes[code_counts >= LEAST_CONTEXT]
    pairs = ((part.scheme, name) for part in parts for name in part.templates if name)
    counts = Counter(name for scheme, name in pairs if alternatives(scheme, name, frozenset([name])))
    classes = ["", *(name for name, count in counts.most_common() if count >= LEAST_TEMPLATE)]
    trained = []
    for part in parts:
        is_possible = np.isin(context_codes(part.features.symbols, symbols.size), contexts)
        trained.append(select_trained(part, is_possible, frozenset(classes)))
    sets = [alternatives(part.scheme, name, frozenset(classes)) for part in trained for name in part.templates]
    numbers = {names: number for number, names in enumerate(dict.fromkeys(sets))}
    costs = torch.tensor([[0.0 if name in names else -torch.inf for name in classes] for names in numbers])
    network = ConstituentScorer(
        width=parts[0].vectors.shape[1],
        size=SIZE,
        roles=len(WORDS),
        symbols=(len(SYMBOLS), symbols.size + EXTRA_SYMBOLS),
        classes=len(classes),
        schemes=1,
    )
    print(f"{len(sets)} gaps, {len(classes)} classes", flush=True)
    train(network, trained, costs, np.array([numbers[names] for names in sets]), epochs)
    arrays = {name: tensor.detach().numpy().astype(np.float16) for name, tensor in network.state_dict().items()}
    arrays["biases"][0, 0] -= BIAS
    texts = np.frombuffer("\n".join(classes).encode(), np.uint8)
    return {**arrays, TEMPLATES: texts, CONTEXTS: contexts.astype(np.int32)}


def select_trained(part: Examples, is_possible: Mask, classes: frozenset[str]) -> Examples:
    """The gaps at which the model may insert, and whose templates agree with classes."""
    rows = [
        row for row in np.flatnonzero(is_possible).tolist() if alternatives(part.scheme, part.templates[row], classes)
    ]
    return part.select(np.array(rows), [part.templates[row] for row in rows])


def train(network: nn.Module, parts: Sequence[Examples], costs: Tensor, cost_ids: Ints, epochs: int) -> None:
    """Maximizes the probability of the classes that agree with the treebanks; other classes have infinite costs."""
    sizes = np.array([len(part.vectors) for part in parts])
    shifts = np.cumsum(sizes) - sizes
    vectors = np.concatenate([part.vectors for part in parts])
    words = np.concatenate(
        [
            np.where(part.features.words == size, len(vectors), part.features.words + shift)
            for part, size, shift in zip(parts, sizes, shifts, strict=True)
        ]
    )
    symbols = np.concatenate([part.features.symbols for part in parts])
    weights = torch.tensor([WEIGHTS.get(part.scheme, 1.0) for part in parts for _ in part.templates])
    optimizer = torch.optim.AdamW(network.parameters(), RATE)
    blocks = np.arange(len(words) // BLOCK * BLOCK).reshape(-1, BLOCK)
    steps = len(blocks) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * steps, pct_start=0.1)
    rng = np.random.default_rng(1)
    for epoch in range(epochs):
        start, total = time.monotonic(), 0.0
        for numbers in np.split(rng.permutation(len(blocks))[: steps * BATCH], steps):
            rows = blocks[numbers].ravel()
            word_ids, places = np.unique(np.append(words[rows], len(vectors)), return_inverse=True)
            batch_vectors = torch.from_numpy(vectors[word_ids[:-1]].astype(np.float32))
            batch_words = torch.from_numpy(places[:-1].reshape(len(rows), -1))
            schemes = torch.zeros(len(rows), dtype=torch.long)
            scores = network(batch_vectors, batch_words, torch.from_numpy(symbols[rows]), schemes)
            agreeing = (scores.log_softmax(-1) + costs[cost_ids[rows]]).logsumexp(-1)
            loss = -(agreeing * weights[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / steps:.4f}, {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("trees", nargs="+", metavar="SCHEME=TREES[:N]")
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()
    torch.manual_seed(1)
    rng = random.Random(1)
    model = Parser.load(args.model, "cpu")
    trees: dict[str, list[Tree]] = {}
    for pair in args.trees:
        scheme, _, source = pair.partition("=")
        path, _, limit = source.partition(":")
        all_trees = [tree for tree in read_trees(path) if not tree.is_leaf]
        count = min(int(limit or len(all_trees)), len(all_trees))
        trees[scheme] = add_newspaper_style(rng.sample(all_trees, count), rng)
    categories = list(LabelChains(model.vocabulary.labels).categories)
    symbols = Symbols(categories, model.vocabulary.tags)
    parts = [
        read_examples(scheme, part, read_vectors(model, [tree.words for tree in part]), symbols, categories)
        for scheme, part in trees.items()
    ]
    arrays = fit(parts, symbols, args.epochs)
    save_folder(args.out, {**read_files(args.model), COMPONENTS["empties"]: to_safetensors(arrays)})


if __name__ == "__main__":
    main()
