"""Treebank releases: small folders with the layout of each release."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.releases import (
    RELEASES,
    SPLITS,
    CleanTrees,
    ReleaseSizes,
    _format_ranges,
    _parse_ranges,
    count_sizes,
    prepare,
    report_release,
    report_trees,
)
from treecrf.trees.treebank.samples import FOLDER

PTB = "( (S (NP-SBJ (NN {name})) (VP (VBZ runs) (NP (-NONE- *)))))\n"
CTB = "<DOC>\n<S ID=1>\n( (IP (NP-SBJ (NR {name}))\n      (VP (VV 跑))) )\n</S>\n</DOC>\n"


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))


def names(folder: Path) -> dict[str, list[str]]:
    """The first word of each tree, which names the file that it comes from."""
    return {split: [tree.words[0] for tree in read_trees(folder / f"{split}.mrg")] for split in SPLITS}


def ptb(folder: Path, articles: list[str], layout: str = "parsed/mrg/wsj/{section}/wsj_{article}.mrg") -> Path:
    for article in articles:
        write(folder / layout.format(section=article[:2], article=article), PTB.format(name=article))
    return folder


def ctb(folder: Path, articles: list[int], layout: str, encoding: str = "utf-8") -> Path:
    for article in articles:
        write(folder / layout.format(article), CTB.format(name=f"树{article}"), encoding)
    return folder


@pytest.mark.parametrize(
    "layout",
    [
        "treebank_3/parsed/mrg/wsj/{section}/wsj_{article}.mrg",
        "{section}/wsj_{article}.mrg",
        "combined/wsj_{article}.mrg",
        "WSJ/{section}/WSJ_{article}.MRG",
    ],
)
def test_ptb_sections_are_found_in_every_layout(tmp_path: Path, layout: str) -> None:
    source = ptb(tmp_path / "in", ["0001", "0199", "0200", "0299", "2172", "2200", "2300", "2399", "2400"], layout)
    write(source / "parsed/prd/wsj/02/wsj_0200.prd", "(broken")
    _splits, missing = prepare(RELEASES["ptb"], source, tmp_path / "out")
    assert names(tmp_path / "out") == {"train": ["0200", "0299", "2172"], "dev": ["2200"], "test": ["2300", "2399"]}
    assert missing == ["WSJ sections 3-20"]


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8"])
def test_ctb5_articles_are_split(tmp_path: Path, encoding: str) -> None:
    articles = [1, 270, 271, 300, 301, 325, 400, 439, 440, 1151]
    source = ctb(tmp_path / "in", articles, "data/bracketed/chtb_{:03}.fid", encoding)
    ctb(source, articles, "data/postagged/chtb_{:03}.pos", encoding)
    ctb(source, articles, "data/raw/chtb_{:03}.sgm", encoding)
    _splits, missing = prepare(RELEASES["ctb5"], source, tmp_path / "out")
    expected = {"train": ["树1", "树270", "树440", "树1151"], "dev": ["树301", "树325"], "test": ["树271", "树300"]}
    assert names(tmp_path / "out") == expected
    assert missing[0].startswith("CTB articles 2-269, 272-299, 302-324, 441-1150")


def test_ctb7_articles_are_split(tmp_path: Path) -> None:
    dev = [41, 80, 1120, 1129, 2140, 2159, 2280, 2294, 2550, 2569, 2775, 2799, 3080, 3109]
    test = [1, 40, 901, 931, 1018, 1020, 1036, 1044, 1060, 1061, 1072, 1118, 1119, 1132, 1141, 1142, 1148]
    test += [2165, 2180, 2295, 2310, 2570, 2602, 2800, 2819, 3110, 3145]
    train = [81, 885, 900, 1019, 1117, 1130, 1149, 2000, 2139, 2160, 2164, 2181, 2279, 2311, 2549, 2603, 2820, 3079]
    train += [4000, 4411, 9000]
    source = ctb(tmp_path, [*dev, *test], "data/utf-8/bracketed/chtb_{:04}.nw")
    ctb(source, train, "data/utf-8/bracketed/chtb_{:04}.bn")
    ctb(source, [*dev, *test, *train], "data/utf-8/segmented/chtb_{:04}.nw.seg")
    prepare(RELEASES["ctb7"], source, tmp_path / "out")
    expected = {"train": sorted(train), "dev": dev, "test": test}
    assert names(tmp_path / "out") == {split: [f"树{n}" for n in numbers] for split, numbers in expected.items()}


def test_articles_are_found_beside_other_annotations(tmp_path: Path) -> None:
    source = ctb(tmp_path, [1, 271, 301], "chtb_{:03}.fid")
    for layer in ("raw", "seg", "pos"):
        ctb(source, [1, 271, 301], f"chtb_{{:03}}.{layer}")
    prepare(RELEASES["ctb5"], source, tmp_path / "out")
    assert names(tmp_path / "out") == {"train": ["树1"], "dev": ["树301"], "test": ["树271"]}


def test_a_complete_release_has_all_articles() -> None:
    release = {name: _parse_ranges(RELEASES[name].find.keywords["release"]) for name in ("ctb5", "ctb7")}  # type: ignore[attr-defined]
    assert {name: len(articles) for name, articles in release.items()} == {"ctb5": 890, "ctb7": 2448}
    for name in ("ctb5", "ctb7"):
        options = RELEASES[name].find.keywords  # type: ignore[attr-defined]
        dev, test = _parse_ranges(options["dev"]), _parse_ranges(options["test"])
        assert not dev & test
        assert {81, 1151} <= release[name] - dev - test


def test_compressed_files_are_found(tmp_path: Path) -> None:
    for article in ("0201", "2201", "2301"):
        (tmp_path / f"wsj_{article}.mrg.gz").write_bytes(gzip.compress(PTB.format(name=article).encode()))
    prepare(RELEASES["ptb"], tmp_path, tmp_path / "out")
    assert names(tmp_path / "out") == {"train": ["0201"], "dev": ["2201"], "test": ["2301"]}


def test_gum_documents_are_split_as_listed(tmp_path: Path) -> None:
    documents = ["GUM_bio_a", "GUM_news_b", "GUM_reddit_c", "GUM_reddit_d"]
    write(
        tmp_path / "splits.md",
        "# Splits\n\n## dev\n\n  * GUM_news_b\n\n## test\n\n  * GUM_reddit_d\n\n## test2\n\n  * GENTLE_x\n\n"
        "## train\n\n  * GUM_bio_a\n  * GUM_reddit_c\n  * GUM_vlog_e\n",
    )
    for document in documents:
        word = "____" if document == "GUM_reddit_c" else document
        write(tmp_path / f"const/{document}.ptb", f"(ROOT\n  (NP-TTL\n    (NN {word})))\n")
    _splits, missing = prepare(RELEASES["gum"], tmp_path, tmp_path / "out")
    assert names(tmp_path / "out") == {"train": ["GUM_bio_a"], "dev": ["GUM_news_b"], "test": ["GUM_reddit_d"]}
    assert missing[0] == "documents GUM_vlog_e"
    assert missing[1].startswith("the words of 1 documents from Reddit")


def test_craft_documents_are_split_as_listed(tmp_path: Path) -> None:
    for split, article in zip(SPLITS, ("111", "222", "333"), strict=True):
        write(tmp_path / f"articles/ids/craft-ids-{split}.txt", f"{article}\n")
        text = f"( (TITLE (NP-SBJ (NN {article}))) )\n( (CAPTION (S (NP (NN it)) (VP (VBZ is)))) )\n"
        write(tmp_path / f"structural-annotation/treebank/penn/{article}.tree", text)
    splits, missing = prepare(RELEASES["craft"], tmp_path, tmp_path / "out")
    assert names(tmp_path / "out") == {"train": ["111", "it"], "dev": ["222", "it"], "test": ["333", "it"]}
    assert splits["train"].labels == {"NP", "S", "VP"}
    assert not missing


def test_the_same_article_twice_is_an_error(tmp_path: Path) -> None:
    ptb(tmp_path, ["0200", "2200", "2300"])
    ptb(tmp_path, ["0200"], "combined/wsj_{article}.mrg")
    with pytest.raises(ValueError, match=r"wsj_0200.* are the same article"):
        prepare(RELEASES["ptb"], tmp_path, tmp_path / "out")


def test_a_split_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no files for dev under .*; expected the release, with parsed/mrg/wsj"):
        prepare(RELEASES["ptb"], ptb(tmp_path, ["0200", "2300"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not a folder; expected the release"):
        prepare(RELEASES["ctb5"], tmp_path / "absent", tmp_path / "out")


def test_an_unreadable_tree_is_an_error_unless_skipped(tmp_path: Path) -> None:
    source = ptb(tmp_path / "in", ["0200", "2200", "2300"])
    write(source / "parsed/mrg/wsj/02/wsj_0201.mrg", "( (S (NN x))\n" + PTB.format(name="0201"))
    with pytest.raises(ValueError, match=r"wsj_0201\.mrg:1: 1 '\)' missing"):
        prepare(RELEASES["ptb"], source, tmp_path / "out")
    assert not (tmp_path / "out" / "train.mrg").exists()
    splits, _missing = prepare(RELEASES["ptb"], source, tmp_path / "out", on_error="skip")
    assert splits["train"].skipped == 1
    assert names(tmp_path / "out")["train"] == ["0200", "0201"]


def test_trees_are_counted_as_they_are_read() -> None:
    trees = CleanTrees(files=[FOLDER / "english.mrg", FOLDER / "chinese.fid"])
    forest = list(trees)
    assert trees.sentences == len(forest) == 14
    assert trees.tokens == sum(len(tree.words) for tree in forest)
    assert trees.labels == {node.label for tree in forest for node in tree.walk() if not node.is_leaf} - {"TOP"}
    assert (trees.wordless, trees.skipped) == (1, 0)


def test_files_without_trees_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "empty.mrg", "\n")
    with pytest.raises(ValueError, match=re.escape(f"no trees in {tmp_path / 'empty.mrg'} and 1 more")):
        list(CleanTrees(files=[tmp_path / "empty.mrg", tmp_path / "empty.mrg"]))


def test_sizes_are_counted_and_compared_with_the_paper(tmp_path: Path) -> None:
    splits, _missing = prepare(RELEASES["ptb"], ptb(tmp_path, ["0200", "0300", "2200", "2300"]), tmp_path / "out")
    assert count_sizes(splits) == ReleaseSizes(train=2, dev=1, test=1, labels=3, binarized_labels=3)
    assert RELEASES["ptb"].expected == (39_832, 1_700, 2_416, 26, 138)
    assert RELEASES["ctb5"].expected == (18_104, 352, 348, 26, 162)
    assert RELEASES["ctb7"].expected == (46_572, 2_079, 2_796, 28, 265)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_formatted_ranges_are_parsed_back(numbers: set[int], others: set[int]) -> None:
    text = _format_ranges(numbers, numbers | others)
    assert _parse_ranges(text.replace(",", "")) & (numbers | others) == numbers


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
    release = ({"train": trees(50), "dev": trees(5), "test": trees(4)}, ["WSJ sections 24"])
    assert report_release(*release, ReleaseSizes(50, 5, 7, 2, 3)) == [
        "part   sentences  paper  tokens  labels  paper  binarized  paper",
        "train         50     50     150       2      2          3      3",
        "dev            5      5      15       2                 3",
        "test           4      7      12       2                 3",
        "missing: WSJ sections 24",
        "differs: 4 sentences of test, 7 in the paper",
    ]
    assert report_release(*release, ReleaseSizes(50, 5, 4, 2, 3))[-1] == "all numbers agree with the paper"
    assert report_release(*release, None)[0] == "part   sentences  tokens  labels  binarized"
