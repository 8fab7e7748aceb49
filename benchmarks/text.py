"""Benchmark of the sentence splitter and the tokenizer, beside spaCy and NLTK.

    python benchmarks/text.py [--language LANGUAGE] [TREEBANK.mrg[.gz] ...]

Prints precision, recall and F1 of sentence boundaries and of tokens: on the hard cases in tests/samples/hard_text.txt,
which are English, and on treebanks rebuilt as raw text. The peers are spaCy's sentencizer and NLTK's Punkt and Treebank
tokenizer. Punkt has no trained parameters here: `untrained` has none, `unsupervised` learns them from the text itself.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktSentenceTokenizer
from spacy import blank

from common import command_line, print_head, print_row
from gold_text import Counts, GoldText, Offsets, read_cases, rebuild
from printed_words import PRINTERS
from treecrf.text import sentences
from treecrf.trees.treebank import read_trees

Splitter = Callable[[str], Iterator[list[Offsets]]]  # from a text to the tokens of each sentence
SEPARATORS = {"spaces": " ", "line breaks": "\n"}


def treecrf_splitter(language: str) -> Splitter:
    def split(text: str) -> Iterator[list[Offsets]]:
        return ([(token.start, token.end) for token in sentence] for sentence in sentences(text, language=language))

    return split


def spacy_splitter(language: str) -> Splitter:
    pipeline = blank(language)
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 1 << 30

    def split(text: str) -> Iterator[list[Offsets]]:
        for sentence in pipeline(text).sents:
            yield [(token.idx, token.idx + len(token)) for token in sentence if not token.is_space]

    return split


def nltk_splitter(*, is_trained: bool) -> Splitter:
    tokenizer = NLTKWordTokenizer()

    def split(text: str) -> Iterator[list[Offsets]]:
        punkt = PunktSentenceTokenizer(text if is_trained else None)
        for start, end in punkt.span_tokenize(text):
            sentence = text[start:end]
            # raises on some quotation marks; white space is the tokenizer's own fallback
            try:
                yield [(start + first, start + last) for first, last in tokenizer.span_tokenize(sentence)]
            except ValueError:
                yield list(spaced_offsets(sentence, start))

    return split


def spaced_offsets(sentence: str, start: int) -> Iterator[Offsets]:
    position = 0
    for word in sentence.split():
        position = sentence.index(word, position)
        yield start + position, start + position + len(word)
        position += len(word)


def score(texts: Sequence[GoldText], split: Splitter) -> tuple[Counts, Counts]:
    """The counts of sentence boundaries and of tokens."""
    boundaries, tokens = Counts(), Counts()
    for gold in texts:
        predicted = GoldText(gold.text, [sentence for sentence in split(gold.text) if sentence])
        boundaries = boundaries.plus(gold.ends, predicted.ends)
        tokens = tokens.plus(gold.tokens, predicted.tokens)
    return boundaries, tokens


def print_table(name: str, texts: Sequence[GoldText], splitters: dict[str, Splitter]) -> None:
    sentence_count = sum(len(gold.sentences) for gold in texts)
    print(f"\n{name}: {sentence_count:,} sentences, {sum(len(gold.tokens) for gold in texts):,} tokens\n")
    print_head("", "boundaries P", "R", "F1", "tokens P", "R", "F1")
    for splitter_name, split in splitters.items():
        cells = [
            f"{100 * value:.2f}"
            for counts in score(texts, split)
            for value in (counts.precision, counts.recall, counts.f1)
        ]
        print_row(splitter_name, *cells)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("treebanks", nargs="*", type=Path, metavar="TREEBANK")
    parser.add_argument("--language", choices=PRINTERS, default="en", help="language of the treebanks (default: en)")
    parser.add_argument("--only-treecrf", action="store_true", help="leave out spaCy and NLTK")
    args = parser.parse_args()
    splitters: dict[str, Splitter] = {"treecrf": treecrf_splitter(args.language)}
    if not args.only_treecrf:
        splitters["spaCy sentencizer"] = spacy_splitter(args.language)
        splitters["NLTK, Punkt untrained"] = nltk_splitter(is_trained=False)
        splitters["NLTK, Punkt unsupervised"] = nltk_splitter(is_trained=True)
    if args.language == "en":
        print_table("hard cases", read_cases(), splitters)
    for path in args.treebanks:
        trees = list(read_trees(path))
        for name, separator in SEPARATORS.items():
            text = rebuild(trees, separator, PRINTERS[args.language])
            print_table(f"{path.parent.name}/{path.name}, {name}", [text], splitters)


if __name__ == "__main__":
    main()
