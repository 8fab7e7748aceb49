from treecrf.trees.treebank.random_split import RandomSplit
from treecrf.trees.treebank.release_report import report_release, report_split, report_trees
from treecrf.trees.treebank.releases import SPLITS, CleanTrees, PreparedRelease, ReleaseSizes


def trees(sentences: int, skipped: int = 0, wordless: int = 0) -> CleanTrees:
    sizes = {"sentences": sentences, "tokens": 3 * sentences, "skipped": skipped, "wordless": wordless}
    return CleanTrees(files=[], labels={"NP", "S"}, binarized_labels={"NP", "S", "(S)"}, **sizes)


def test_trees_have_one_row_and_the_trees_that_were_left_out():
    assert report_trees(trees(1200, skipped=2, wordless=1)) == [
        "part  sentences  tokens  labels  binarized",
        "all       1,200   3,600       2          3",
        "skipped, because they could not be read: 2 trees",
        "dropped, because no words were left: 1 trees",
    ]
    assert len(report_trees(trees(5))) == 2


def test_a_release_stands_beside_the_paper():
    release = PreparedRelease({"train": trees(50), "dev": trees(5), "test": trees(4)}, ["WSJ sections 24"])
    assert report_release(release, ReleaseSizes(50, 5, 7, 2, 3)) == [
        "part   sentences  paper  tokens  labels  paper  binarized  paper",
        "train         50     50     150       2      2          3      3",
        "dev            5      5      15       2                 3",
        "test           4      7      12       2                 3",
        "missing: WSJ sections 24",
        "differs: 4 sentences of test, 7 in the paper",
    ]
    assert report_release(release, ReleaseSizes(50, 5, 4, 2, 3))[-1] == "all numbers agree with the paper"
    assert report_release(release, None)[0] == "part   sentences  tokens  labels  binarized"


def test_a_split_tells_its_documents_and_repeated_sentences():
    parts = {split: trees(5) for split in SPLITS}
    split = RandomSplit(trees=trees(15, skipped=1), parts=parts, has_file_documents=True, seen={"dev": 0, "test": 2})
    assert report_split(split)[-3:] == [
        "skipped, because they could not be read: 1 trees",
        "note: 2 of the sentences of test have the words of a sentence in train",
        "each file was put into one part as a whole",
    ]
