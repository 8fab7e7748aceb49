import json
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from project_models import model_folder
from treecrf.network.data.pieces import check_tokenizer, piece_ids, piece_splitter

MODELS = ["en", "es", "is", "id", "pt"]
# the characters of an old Unicode: the package tokenizers does not know the categories of the newest
KNOWN = [chr(code) for code in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs")]
OTHERS = "\u1734\u1885\u1886"  # Unicode 9 and 14 have changed their categories
SPECIAL = ["[SEP]", "</s>", "[CLS]x<s>", "[UNK][UNK]", "<unk>a", "▁", "▁a ▁", "a b", " {2,}", "a" * 100, "a" * 101]


@pytest.fixture(scope="module", params=MODELS)
def values(request):
    return json.loads((model_folder(request.param) / "tokenizer.json").read_text(encoding="utf-8"))


def theirs(values, texts):
    """The pieces of texts by the package tokenizers."""
    backend = Tokenizer.from_str(json.dumps(values))
    return [encoding.ids for encoding in backend.encode_batch(list(texts), add_special_tokens=False)]


def check(values, texts):
    assert list(map(piece_splitter(values), texts)) == theirs(values, texts)


def test_every_character_has_the_pieces_of_the_package_tokenizers(values):
    sample = [char for char in random.Random(1).sample(KNOWN, 5000) if char not in OTHERS]
    check(values, [*sample, *(f"a{char}b" for char in sample), *SPECIAL])


def test_random_texts_have_the_pieces_of_the_package_tokenizers(values):
    chars = random.Random(2)
    texts = ["".join(chars.choices("abcdefghiñéÉÍðß ▁.,'-_12日本", k=chars.randrange(12))) for _ in range(5000)]
    check(values, texts)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False, None])
@pytest.mark.parametrize("handle_chinese_chars", [True, False])
def test_the_settings_of_the_normalizer_are_those_of_bert(lowercase, strip_accents, handle_chinese_chars):
    values = json.loads((model_folder("en") / "tokenizer.json").read_text(encoding="utf-8"))
    values["normalizer"] |= {"lowercase": lowercase, "strip_accents": strip_accents}
    values["normalizer"]["handle_chinese_chars"] = handle_chinese_chars
    check(values, ["Paris", "café", "CAFÉ", "e\u0301a", "日本x", "naïve漢字", "İstanbul", "ΣΑΣ"])


scores = st.integers(-1280, 0).map(lambda number: number / 64)  # of which all sums are exact
letters = st.text("abc", min_size=1, max_size=4)


@given(st.dictionaries(letters, scores, min_size=1, max_size=12), st.text("abcd ", max_size=10))
def test_unigram_takes_the_pieces_with_the_greatest_sum_of_scores(vocabulary, text):
    values = json.loads((model_folder("es") / "tokenizer.json").read_text(encoding="utf-8"))
    values["model"]["vocab"] = [["<unk>", 0.0], *map(list, vocabulary.items())]
    values |= {"added_tokens": []}
    values["model"]["unk_id"] = 0
    assert piece_splitter(values)(text) == theirs(values, [text])[0]
    values["pre_tokenizer"] |= {"prepend_scheme": "never"}  # as for languages without spaces
    assert piece_splitter(values)(text) == theirs(values, [text])[0]


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"normalizer": None},
        {"normalizer": {"type": "NFKC"}},
        {"model": {"type": "BPE", "vocab": {}, "merges": []}},
        {"model": {"type": "Unigram", "unk_id": None, "vocab": [["a", 0.0]]}},
        {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", float("nan")], ["b", 0.0]]}},
        {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a" * 65, 0.0]]}},
        {"added_tokens": [{"id": 1, "content": "<mask>", "single_word": True}]},
        {"added_tokens": [{"id": 1, "content": "\u200b", "normalized": True}]},
    ],
)
def test_tokenizers_of_other_kinds_are_left_to_the_package(values, change):
    assert piece_splitter(values | change) is None


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "normalized"])
def test_unigram_has_no_tokens_with_flags(flag):
    values = json.loads((model_folder("es") / "tokenizer.json").read_text(encoding="utf-8"))
    assert piece_splitter(values | {"added_tokens": [{"id": 1, "content": "<mask>", flag: True}]}) is None


MPNET_TEXTS = [
    *("<mask>", " <mask> ", "a <mask>b", "<MASK>", "<unk>", "<UNK>", "a<unk>b", "<u\u0301nk>", "<u\x00nk>", "< unk>"),
    *("<unk ><unk>", "<<unk>>", "<unk><unk>x", "<un<unk>k>", "日<unk>本", "<mask><unk>[SEP]", "it's"),
]


def test_tokens_of_mpnet_have_the_pieces_of_the_package_tokenizers():
    values = json.loads((model_folder("en") / "tokenizer.json").read_text(encoding="utf-8"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    for content, flag in (("<mask>", "lstrip"), ("<unk>", "normalized")):
        values["model"]["vocab"][content] = len(values["model"]["vocab"])
        values["added_tokens"].append(
            {"id": values["model"]["vocab"][content], "content": content, **flags, flag: True}
        )
    check(values, MPNET_TEXTS)


def test_the_ids_of_pieces_include_added_tokens(values):
    ids = piece_ids(values | {"added_tokens": [{"id": 7, "content": "<more>"}]})
    backend = Tokenizer.from_str(json.dumps(values))
    assert ids.pop("<more>") == 7 and ids == backend.get_vocab()


SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}
VALID = {
    "model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}, "max_input_chars_per_word": 1000},
    "added_tokens": [{"id": 2, "content": "x" * 1000}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x" * 62}, {"type": "NFC"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT] * 19},
}


def test_known_components_up_to_the_limits_are_accepted():
    check_tokenizer(VALID, {"vocab_size": 3})
    check_tokenizer(VALID, {})
    check_tokenizer({"model": {"vocab": [["a", 0.0], ["b", -1.0]]}}, {"vocab_size": 2})
    replace = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    check_tokenizer(VALID | {"normalizer": replace}, {})
    check_tokenizer(VALID | {"normalizer": {"type": "Precompiled"}}, {"model_type": "xlm-roberta"})


@pytest.mark.parametrize(
    ("changes", "encoder", "message"),
    [
        ({"model": None}, {}, "there is no model in it"),
        ({"model": {"type": "Other", "vocab": {}}}, {}, "its model is 'Other'"),
        ({"model": {"vocab": {}, "max_input_chars_per_word": 1001}}, {}, "max_input_chars_per_word is 1001"),
        ({"model": {"vocab": {}, "max_input_chars_per_word": -1}}, {}, "max_input_chars_per_word is -1"),
        ({"model": {"vocab": {}, "dropout": 0.1}}, {}, "its dropout is 0.1"),
        ({"model": {}}, {}, "its model has no vocabulary"),
        ({"model": {"vocab": {"a": 0.5}}}, {}, "is not an integer"),
        ({}, {"vocab_size": 2}, "the id of a piece is 2; expected 0 to 1, as the encoder has embeddings"),
        ({"model": {"vocab": {"a": -1}}}, {}, "the id of a piece is -1"),
        ({"added_tokens": {"a": 1}}, {}, "added_tokens is not a list"),
        ({"added_tokens": [{"id": 1, "content": ""}]}, {}, "an added token is"),
        ({"added_tokens": [{"id": 1, "content": "x" * 1001}]}, {}, "an added token is"),
        ({"added_tokens": [{"id": "1", "content": "x"}]}, {}, "an added token is"),
        ({"normalizer": {"type": "Other"}}, {}, "one of its normalizers is"),
        ({"normalizer": {"type": "Precompiled"}}, {"model_type": "bert"}, "one of its normalizers is"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 64}}, {}, "makes 65 characters of one"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 4}},
            {},
            "makes 256 characters of one; expected at most 64",
        ),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+"}, "content": ""}}, {}, "the pattern"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": 5}}, {}, "has the text 5"),
        ({"pre_tokenizer": SPLIT | {"pattern": {"Regex": "(a+)+"}}}, {}, "it splits or replaces the pattern"),
        ({"pre_tokenizer": SPLIT | {"pattern": None}}, {}, "it splits or replaces the pattern"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT] * 20}}, {}, "expected at most 20"),
    ],
)
def test_everything_else_is_an_error(changes, encoder, message):
    with pytest.raises(ValueError, match=message):
        check_tokenizer(VALID | changes, encoder)
