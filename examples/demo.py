"""Parses English and Chinese sentences and prints their trees with the probability of each constituent."""

import time

from treecrf import Parser

SENTENCES = {
    "en": [
        "The time for action is now.",
        "I saw the girl with the telescope, but she didn't see me (or so she said).",
        "time flies like an arrow; fruit flies like a banana",
    ],
    "zh": ["我們喜歡這個圖書館。", "他在学校学习中文。"],
}


def main() -> None:
    for model, sentences in SENTENCES.items():
        start = time.perf_counter()
        parser = Parser.load(model)
        print(f"== {model}, loaded in {time.perf_counter() - start:.1f} s on {parser.device} ==\n")
        for sentence in sentences:
            print_analysis(parser, sentence)


def print_analysis(parser: Parser, sentence: str) -> None:
    """Prints a sentence's tree with the probability of each constituent, and the best other tree."""
    analysis = parser.analyze(sentence, k=2)
    print(sentence)
    probabilities = (constituent.probability for constituent in analysis.constituents)
    for line, node in zip(analysis.tree.pretty().split("\n"), analysis.tree.walk(), strict=True):
        print(line if node.is_leaf else f"{line}  {next(probabilities):.3f}")
    print(f"log-probability {analysis.log_prob:.2f}, entropy {analysis.entropy:.2f}")
    for alternative in analysis.alternatives:
        if alternative.tree != analysis.tree:
            print(f"next best, with log-probability {alternative.log_prob:.2f}: {alternative.tree}")
            break
    print()


if __name__ == "__main__":
    main()
