import re
import subprocess
import sys
from pathlib import Path

import pytest

from treecrf.text import Token, sentences, tokenize
from treecrf.trees.treebank import read_trees

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"


def words(text: str, **options: str) -> list[list[str]]:
    return [[token.word for token in sentence] for sentence in sentences(text, **options)]


def surfaces(text: str) -> str:
    return " | ".join(" ".join(token.text for token in sentence) for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't, can't and cannot.", "I do n't , ca n't and can not ."),
        ("It's John's; they'll've DON'T", "It 's John 's ; they 'll 've DO N'T"),
        ("It’s what I’d do, isn’t it?", "It ’s what I ’d do , is n’t it ?"),
        ("We're gonna, gotta, wanna; lemme, gimme", "We 're gon na , got ta , wan na ; lem me , gim me"),
        ("'Tis the '90s for 'em, rock 'n' roll", "'T is the '90s for 'em , rock 'n' roll"),
        ("O'Brien's and the investors' ma'am", "O'Brien 's and the investors ' ma'am"),
        ("Goin' to Dunkin' Donuts", "Goin' to Dunkin' Donuts"),
        ("He paid $3.50, US$5m, £4 or €1,000.", "He paid $ 3.50 , US$ 5m , £ 4 or € 1,000 ."),
        ("At 10:30, 50% of AT&T's R&D", "At 10:30 , 50 % of AT&T 's R&D"),
        ("A state-of-the-art 3/4-inch and/or 64-year-old", "A state-of-the-art 3/4-inch and/or 64-year-old"),
        ("Wait--no — yes... and well…", "Wait -- no — yes ... and well …"),
        ("He [sic] left (again).", "He [ sic ] left ( again ) ."),
        ("Your friend(s) and 1,25(OH)2D3", "Your friend(s) and 1,25(OH)2D3"),
        ("What?! No!!!", "What ?! | No !!!"),
        ("He works at Acme Inc.", "He works at Acme Inc ."),
        (
            "Acme Inc., of the U.S., grew (Acme Corp.) and grew",
            "Acme Inc. , of the U.S. , grew ( Acme Corp. ) and grew",
        ),
        ('He left the U.S." 😀', 'He left the U.S . " 😀'),
        ("'No.' he said", "' No . ' he said"),
        ("See https://a.org/b_(c), (www.x.com/a?b=c&d=1).", "See https://a.org/b_(c) , ( www.x.com/a?b=c&d=1 ) ."),
        ("Mail joe.bloggs+x@mail.co.uk.", "Mail joe.bloggs+x@mail.co.uk ."),
        (
            "#winning @bob :-) <3 LOL😀👨\u200d👩\u200d👧👍🏽🇺🇸!",
            "#winning @bob :-) <3 LOL 😀 👨\u200d👩\u200d👧 👍🏽 🇺🇸 !",
        ),
        ("<b>bold</b> &amp; x<y, a=b", "<b> bold </b> &amp; x < y , a = b"),
        ("She do n't know 's it ''", "She do n't know 's it ''"),
    ],
)
def test_english_tokens_follow_the_penn_treebank(text, expected):
    assert surfaces(text) == expected


def test_words_are_escaped_as_in_the_penn_treebank():
    (sentence,) = words('"It’s (so) [very] {odd}" “he” said, ‘no’')
    assert " ".join(sentence) == "`` It 's -LRB- so -RRB- -LSB- very -RSB- -LCB- odd -RCB- '' `` he '' said , ` no '"


def test_quotation_marks_between_spaces_open_and_close_alternately():
    assert words('He said " yes " and " no "') == [["He", "said", "``", "yes", "''", "and", "``", "no", "''"]]


@pytest.mark.parametrize("text", ['("Yes")', '"...yes"', '--"yes"', '"\'Tis"', '"yes".', '"yes," "no,"'])
def test_quotation_marks_open_before_words_and_close_after_them(text):
    marks = [word for word in words(text)[0] if word in ("``", "''")]
    assert marks == ["``", "''"] * (len(marks) // 2)
    assert marks


def test_invisible_characters_are_removed_from_the_word_only():
    (token,) = tokenize("\ufeffco\xadop\u200b")
    assert token == Token("\ufeffco\xadop\u200b", 0, 7, "coop")


def test_a_token_of_invisible_characters_keeps_them():
    assert words("a \u200b b") == [["a", "\u200b", "b"]]


def test_english_needs_no_segmenter_and_no_torch():
    code = "import sys; from treecrf.text import tokenize; tokenize('A text.'); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "rjieba", "opencc", "nltk"} & set(result.stdout.split())


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("name", ["masc", "ptb_sample"])
def test_words_of_a_treebank_are_not_split(name):
    """A single word of a treebank is one token, with few exceptions."""
    trees = read_trees(TREEBANKS / name / "dev.mrg.gz")
    vocabulary = {word.replace("\\/", "/") for tree in trees for word in tree.words if re.fullmatch(r"[\w'./-]+", word)}
    # a second word follows, so that a final period does not end the sentence
    cut = [word for word in vocabulary if tokenize(f"{word} x")[0].text != word]
    assert len(cut) < 0.005 * len(vocabulary), cut


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use --verbose or --dry-run=yes.", "Use --verbose or --dry-run=yes ."),
        ("Use --no-recursion, --all-match or -?.", "Use --no-recursion , --all-match or -? ."),
        ("It takes --since=<date> and --color[=auto].", "It takes --since=<date> and --color[=auto] ."),
        ("He came --and she left --no, really.", "He came -- and she left -- no , really ."),
        ("See ssh-agent(1) and x[0][12].", "See ssh-agent(1) and x[0][12] ."),
        ("He left --and never --The End-- came", "He left -- and never -- The End -- came"),
        ("The formats %s, %d and %(name)s cost 5%.", "The formats %s , %d and %(name)s cost 5 % ."),
        ("All site_* and *.txt in src/*.py, *really*", "All site_* and *.txt in src/*.py , * really *"),
        (r"Open C:\Users\me, then ~/.bashrc.", r"Open C:\Users\me , then ~/.bashrc ."),
        ("Set $HOME/bin and ${VAR} for $5 or US$6", "Set $HOME/bin and ${VAR} for $ 5 or US$ 6"),
        ("Call f(), foo(bar) or a.b(c).d().", "Call f() , foo(bar) or a.b(c).d() ."),
        ("the dog(s) barked (loudly)", "the dog(s) barked ( loudly )"),
        (
            "x[0], xs[i][j] and y[3], but claims[3] and claim[s]",
            "x[0] , xs[i][j] and y[3] , but claims [ 3 ] and claim [ s ]",
        ),
        ("Y'all dunno it ends at 5:30pm.", "Y'all dunno it ends at 5:30pm ."),
        ("We use std::vector here", "We use std::vector here"),
    ],
)
def test_code_words_are_one_token(text, expected):
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing is true. -- name", "Nothing is true . | -- name"),
        ("It rained. -- and so we left early.", "It rained. -- and so we left early ."),
        ("It ends at 5:30p.m. on Monday.", "It ends at 5:30p.m. on Monday ."),
        ("He said --well, nothing-- and left.", "He said -- well , nothing -- and left ."),
        ("I agree (really.).", "I agree ( really . ) ."),
        ("He said (really.) that it rained.", "He said ( really . ) that it rained ."),
        ("They moved (from the U.S.) last year.", "They moved ( from the U.S. ) last year ."),
    ],
)
def test_attributions_and_periods_in_brackets_are_apart(text, expected):
    assert surfaces(text) == expected
