import pytest

from treecrf.network.data.tokenizer_check import check_tokenizer

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
