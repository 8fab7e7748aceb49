import warnings

import pytest

from treecrf.trees.search.java_regex import RegexError, compile_regex
from treecrf.trees.search.labels import basic_category


@pytest.mark.parametrize(
    ("regex", "matches", "others"),
    [
        (r"^\w+$", ["NP_1"], ["né", "树"]),  # ASCII, as in Java
        (r"^\d$", ["5"], ["٥"]),
        (r"(?i)^É$", ["É"], ["é"]),
        (r"^N(?i)p|vp$", ["NP", "xVP"], ["np"]),  # flags in the middle hold to the end, also in other alternatives
        (r"^(N(?i)p|x)y$", ["NPy", "Xy"], ["npy", "NPY"]),  # or to the end of the group
        (r"^(?i:np)X$", ["NpX"], ["npx"]),
        (r"^(?i)a(?-i)b$", ["Ab"], ["AB"]),
        (r"^\Qa.b|\E$", ["a.b|"], ["axb|"]),
        (r"^\Qa.b", ["a.bc"], ["axb"]),  # a quotation without an end
        (r"^\Q.\E(a)\1$", [".aa"], ["xaa"]),
        (r"^(a)(b)\2\1$", ["abba"], ["abab"]),
        (r"^(a\1)$|^b$", ["b"], ["a", "aa"]),  # a group that is open has no text yet
        (r"^[a-z&&[^aeiou]]+$", ["xyz"], ["xaz"]),
        (r"^[ab[xy]]+$", ["axby"], ["c"]),
        (r"^[^a[xy]]$", ["b"], ["a", "x"]),
        (r"^[\p{Alpha}\d-]+$", ["N-1"], ["N.1"]),
        (r"^\p{L}+$", ["é树"], ["a1"]),
        (r"^\P{L}$", ["1"], ["a"]),
        (r"^[\P{Punct}]$", ["a"], ["."]),
        (r"^\p{IsUppercase}\p{javaLowerCase}$", ["Éé"], ["éÉ"]),
        (r"^(?<first>.)\k<first>$", ["aa"], ["ab"]),
        (r"^[]a]$", ["]", "a"], ["b"]),
        (r"^[[a]&|~]$", ["a", "&", "|", "~"], ["["]),
        (r"\.\z", ["a."], ["." + "a"]),
        (r"^\x{41}\x42$", ["AB"], ["ab"]),
        (r"^a(?=b)b(?!c)", ["ab"], ["abc"]),
        (r"^(?:a)++b$", ["aab"], ["b"]),
        (r"^a{2}$", ["aa"], ["a"]),
        (r"^a{1}{3}$", ["a"], ["aaa"]),  # the second repetition is of the empty string
        (r"^(a)\1$|\2", ["aa"], ["a"]),  # a group that does not exist matches nothing
        (r"^(a)\11$", ["aa1"], ["aa"]),  # with one group, this is \1 and a 1
        ("^" + "(a)" * 9 + r"(b)\11$", ["a" * 9 + "ba1"], ["a" * 9 + "ba"]),  # with ten groups too
        ("^" + "(a)" * 9 + r"(b)\10$", ["a" * 9 + "bb"], ["a" * 9 + "ba0"]),
        (r"^*\bNP$*", ["x-NP"], ["xNP"]),
        (r"^(?i)(?s)np$", ["NP"], ["VP"]),
        (r"(?x)^N P$ # comment", ["NP"], ["N P"]),
        (r"^\0101\cJ$", ["A\n"], ["A"]),
        (r"^\H\h[\H]$", ["a b"], ["abc"]),
        (r"^\p{IsLatin}\P{IsHan}$", ["éx"], ["жx", "a树"]),
    ],
)
def test_regular_expressions_have_the_meaning_of_java(regex, matches, others):
    if "++" in regex:
        pytest.importorskip("tomllib", reason="possessive quantifiers need Python 3.11")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pattern = compile_regex(regex)
    assert all(pattern.search(text) for text in matches)
    assert not any(pattern.search(text) for text in others)


@pytest.mark.parametrize(
    ("regex", "offset"),
    [
        *[("a(b", 1), ("a[b", 1), (r"\p{Unheard}", 0), ("a\\", 1), ("*a", 0), ("^a{b", 2), ("x{,2}", 1)],
        *[("a(?P<n>b)", 1), ("(?#a)", 0), (r"[a\b]", 2), (r"(a)[\1]", 4), (r"[a\9]", 2), (r"\08", 0), ("^$(a", 2)],
    ],
)
def test_wrong_expressions_have_a_reason_and_a_place(regex, offset):
    with pytest.raises(RegexError) as raised:
        compile_regex(regex)
    assert raised.value.offset == offset and raised.value.reason


@pytest.mark.parametrize(
    ("label", "category"),
    [
        *[("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP", "NP"), ("-LRB-", "-LRB-"), ("-NONE-", "-NONE-"), ("-", "-")],
        *[
            ("--", "-"),
            ("-LRB-X-1", "-LRB-X"),
            ("S^TOP", "S"),
            ("NP[nn]", "NP"),
            ("", ""),
            ("#", "#"),
            ("PRP$", "PRP$"),
        ],
    ],
)
def test_basic_category_ends_before_the_first_annotation(label, category):
    assert basic_category(label) == category
