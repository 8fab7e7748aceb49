"""What is here so far, on one sentence: a tree, its spans, its score, and the odds of its brackets."""

import torch

from treecrf import SpanCRF, Tree, evaluate, to_spans

GOLD = "(TOP (S (NP (DT The) (NN parser)) (VP (VBZ knows) (NP (DT the) (NNS odds))) (. .)))"
GUESS = "(TOP (S (NP (DT The) (NN parser)) (VP (VBZ knows)) (NP (DT the) (NNS odds)) (. .)))"


def main() -> None:
    gold, guess = Tree.parse(GOLD), Tree.parse(GUESS)
    print(gold.pretty())
    print("\nlabelled spans of its binary tree:")
    print("  " + "  ".join(f"{start}-{end} {label}" for start, end, label in to_spans(gold)))
    print(f"\nEVALB's F of a guess that lost an object: {evaluate([gold], [guess]).f1:.2f}")
    words = len(gold.words)
    crf = SpanCRF(torch.zeros(1, words + 1, words + 1), [words])
    print(f"binary trees over its {words} words: {crf.log_partition.exp().item():.0f}")
    chart = torch.zeros(1, words + 1, words + 1, dtype=torch.bool)
    for start, end, _ in to_spans(gold):
        chart[0, start, end] = True
    print(f"probability of the right one, if all are alike: {crf.log_prob(chart).exp().item():.4f}")


if __name__ == "__main__":
    main()
