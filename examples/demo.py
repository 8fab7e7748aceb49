"""Raw sentences of English and Chinese, their trees with part-of-speech tags, and how probable each part is."""

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
        started = time.perf_counter()
        parser = Parser.load(model)
        print(f"== {model}, loaded in {time.perf_counter() - started:.1f} s on {parser.device} ==\n")
        for sentence in sentences:
            show(parser, sentence)


def show(parser: Parser, sentence: str) -> None:
    """Print a sentence's tree with the probability of each constituent, and the next best tree."""
    analysis = parser.analyze(sentence, k=2)
    print(sentence)
    probabilities = (constituent.probability for constituent in analysis.constituents)
    for line, node in zip(analysis.tree.pretty().split("\n"), analysis.tree.walk(), strict=True):
        print(line if node.is_leaf else f"{line}  {next(probabilities):.3f}")
    print(f"log-probability {analysis.log_prob:.2f}, entropy {analysis.entropy:.2f}")
    for other in analysis.alternatives:
        if other.tree != analysis.tree:
            print(f"or, with log-probability {other.log_prob:.2f}: {other.tree}")
            break
    print()


if __name__ == "__main__":
    main()
