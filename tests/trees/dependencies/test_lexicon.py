from treecrf.trees.dependencies import lexicon


def test_word_lists_have_words_in_lower_case():
    assert len(lexicon.WORDS) == 21
    assert all(word == word.lower() for words in lexicon.WORDS.values() for word in words)
    assert {"is", "'s"} <= lexicon.BE and {"has", "did", "got", "was"} <= lexicon.AUXILIARIES
    assert lexicon.WORDS["months"] < lexicon.TEMPORAL_NOUNS


def test_a_fixed_expression_has_a_tag_and_several_words():
    assert lexicon.FIXED["because", "of"] == "IN" and lexicon.FIXED["as", "well", "as"] == "CC"
    assert lexicon.FIXED["more", "than"] == "RB in QP" and lexicon.FIXED["so", "that"] == "IN"
    assert all(len(words) > 1 for words in lexicon.FIXED)
