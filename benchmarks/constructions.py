"""How often a model gets constructions right that treebanks have rarely, and trees of them for training.

    python benchmarks/constructions.py [--model en en-large ...] [--count 100]
    python benchmarks/constructions.py --model en --wrong garden_paths
    python benchmarks/constructions.py --trees train --count 300 > FILE.mrg
    python benchmarks/constructions.py --language es [--model es] [--trees train]

The first command has two tables: for each kind of recipes/models/constructions/templates.txt the share of its dev
sentences in whose tree every marked constituent and tag is right, and for each kind of dev.mrg the F1. The second
prints the sentences of a kind that are not right. The third writes trees of the templates of a part, `--count` a kind.
Spanish, Indonesian and Icelandic have templates of imperatives.
"""

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from common import ROOT, command_line, print_head, print_row
from treecrf.parser import Parser
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

FOLDER = ROOT / "recipes" / "models" / "constructions"
RULES = replace(COLLINS, max_error=None)
SLOT = re.compile(r"<([^<>]+)>")
LANGUAGES = {"en": "templates.txt", "es": "templates-es.txt", "id": "templates-id.txt", "is": "templates-is.txt"}
PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-", "Fp", "Fc", "Faa", "Fat", "PUN", "grm"}
TRIES = 30  # expansions tried for each new sentence
Mark = tuple[int, int, str]  # first word, end, label; words are counted without punctuation
Sentence = tuple[Tree, Counter[Mark]]


@dataclass
class Templates:
    """The templates of a file."""

    word_lists: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # templates by kind and part

    @staticmethod
    def read(language: str = "en") -> "Templates":
        templates = Templates()
        kind = ""
        for line in (FOLDER / LANGUAGES[language]).read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                kind = line[3:].partition(":")[0]
                templates.kinds[kind] = {"train": [], "dev": []}
            elif line.startswith(("train: ", "dev: ")):
                part, _, template = line.partition(": ")
                templates.kinds[kind][part].append(template)
            elif line and not line.startswith("#"):
                name, _, entries = line.partition(" = ")
                templates.word_lists[name] = [entry.strip() for entry in entries.split(" | ")]
        return templates

    def fill(self, template: str, part: str, chance: random.Random) -> str:
        """Replaces the slots of a template. Every fourth entry of a word list is only in the dev part."""
        while slot := SLOT.search(template):
            entries = self.word_lists[slot[1]]
            chosen = entries[3::4] if part == "dev" else [entry for i, entry in enumerate(entries) if i % 4 != 3]
            template = f"{template[: slot.start()]}{chance.choice(chosen)}{template[slot.end() :]}"
        return template

    def sentences(self, kind: str, part: str, count: int) -> Iterator[Sentence]:
        """Different sentences of a kind, its templates in turn: trees, and the marked constituents and tags."""
        chance = random.Random(f"{kind} {part}")
        seen: set[str] = set()
        for number in range(count):
            template = self.kinds[kind][part][number % len(self.kinds[kind][part])]
            filled = next((text for _ in range(TRIES) if (text := self.fill(template, part, chance)) not in seen), None)
            if filled is not None:
                seen.add(filled)
                marked = Tree.parse(capitalize(filled) if kind != "chat" else filled)
                yield Tree.parse(str(marked).replace("! ", " ")), marks(marked)


def capitalize(brackets: str) -> str:
    """Makes the first letter of a sentence a capital letter."""
    return re.sub(r"(?<= )([^\s()`¡]+)(?=\))", lambda word: word[1][0].upper() + word[1][1:], brackets, count=1)


def marks(tree: Tree, wanted: bool = True) -> Counter[Mark]:
    """The constituents and tags of a tree whose label ends in `!`, or all of them."""
    found: Counter[Mark] = Counter()
    position = 0

    def visit(node: Tree) -> None:
        nonlocal position
        start, label = position, node.label.removesuffix("!") if wanted else node.label
        if not node.is_leaf:
            for child in node.child_trees:
                visit(child)
        elif label not in PUNCTUATION:
            position += 1
        if label != node.label or not wanted:
            found[start, position, label] += 1

    visit(tree)
    return found


def print_kinds(templates: Templates, models: Sequence[Parser], names: Sequence[str], count: int) -> None:
    print_head("templates", "sentences", *names)
    sums = [0.0] * len(models)
    for kind in templates.kinds:
        sentences = list(templates.sentences(kind, "dev", count))
        shares = [1 - len(list(wrong_sentences(model, sentences))) / len(sentences) for model in models]
        sums = [total + share for total, share in zip(sums, shares, strict=True)]
        print_row(kind, len(sentences), *(f"{100 * share:.0f} %" for share in shares))
    print_row("mean", "", *(f"{100 * total / len(templates.kinds):.1f} %" for total in sums))


def wrong_sentences(
    model: Parser, sentences: Sequence[tuple[Tree, Counter[Mark]]]
) -> Iterator[tuple[Tree, list[Mark]]]:
    """The parser's trees that lack a marked constituent or repeat it, and which."""
    trees = model.parse_many([tree.words for tree, _ in sentences])
    for predicted, (_, wanted) in zip(trees, sentences, strict=True):
        found = marks(predicted, wanted=False)
        if missing := [mark for mark, number in wanted.items() if found[mark] != number]:
            yield predicted, missing


def print_scores(models: Sequence[Parser], names: Sequence[str]) -> None:
    trees = list(read_trees(FOLDER / "dev.mrg"))
    with (FOLDER / "constructions.tsv").open(encoding="utf-8", newline="") as file:
        sizes = {row["construction"]: int(row["dev"]) for row in csv.DictReader(file, delimiter="\t")}
    parsed = [list(model.parse_many([tree.words for tree in trees])) for model in models]
    print_head("construction", "trees", *names)
    start = 0
    for name, size in (*sizes.items(), ("all", len(trees))):
        group = slice(start, start + size) if name != "all" else slice(None)
        print_row(name, size, *(f"{evaluate(trees[group], each[group], rules=RULES).f1:.1f}" for each in parsed))
        start += size


def main() -> None:
    options = command_line(__doc__)
    options.add_argument("--language", choices=LANGUAGES, default="en")
    options.add_argument("--model", nargs="+", metavar="M", help="installed models or folders (default: the language)")
    options.add_argument("--device", default="cpu")
    options.add_argument("--count", type=int, default=100, metavar="N", help="sentences a kind (default: 100)")
    options.add_argument("--wrong", metavar="KIND", help="print the wrong trees of a kind")
    options.add_argument("--trees", choices=["train", "dev"], help="write the trees of a part")
    args = options.parse_args()
    templates = Templates.read(args.language)
    names = args.model or [args.language]
    if args.trees:
        for kind in templates.kinds:
            for tree, _ in templates.sentences(kind, args.trees, args.count):
                print(Tree("TOP", (tree,)))
        return
    models = [Parser.load(name, args.device) for name in names]
    if args.wrong:
        for tree, missing in wrong_sentences(models[0], list(templates.sentences(args.wrong, "dev", args.count))):
            print(tree, *sorted(missing))
        return
    print_kinds(templates, models, names, args.count)
    if args.language == "en":
        print_scores(models, names)


if __name__ == "__main__":
    main()
