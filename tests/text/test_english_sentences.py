import pytest

from treecrf.text import english, sentences


def surfaces(text: str) -> str:
    return " | ".join(" ".join(token.text for token in sentence) for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Smith left. Ms. Lee, vs. J. R. Roe, stayed.", "Mr. Smith left . | Ms. Lee , vs. J. R. Roe , stayed ."),
        ("It was 5 p.m. Then he left the U.S. He was sad.", "It was 5 p.m . | Then he left the U.S . | He was sad ."),
        ('He left. "Why? Say it," I said.', 'He left . | " Why ? | Say it , " I said .'),
        ('"Stop!" he cried -- why? -- and left.', '" Stop ! " he cried -- why ? -- and left .'),
        ('"Go." (He left. She stayed.) End', '" Go . " | ( He left . | She stayed . ) | End'),
        ("Tell me. No. OK. Yes", "Tell me . | No . | OK . | Yes"),
        ("A line\nthat wraps\r\nonce\n\nA title\r\n \r\nEnd", "A line that wraps once | A title | End"),
        ("Read www.a.com?b=1 or a.b.Com", "Read www.a.com?b=1 or a.b.Com"),
    ],
)
def test_sentences_end_as_in_treebanks(text, expected):
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is at 5 p.m. EST on Friday.", "It is at 5 p.m. EST on Friday ."),
        ("Add 3 tbsp. of flour.", "Add 3 tbsp. of flour ."),
        ("By Eq. (2), it holds.", "By Eq. ( 2 ) , it holds ."),
        ("Mgr. Novak left.", "Mgr. Novak left ."),
        ("1. Preheat the oven.\n2. Grease a pan.", "1 . Preheat the oven . | 2 . Grease a pan ."),
        ("It ended in 1648.¹ Peace came.", "It ended in 1648 . ¹ | Peace came ."),
        ("She left.Then he cried.", "She left . | Then he cried ."),
        ("make && test", "make && test"),
        ("Ha 😂😂😂 🎉👍👍", "Ha 😂😂😂 🎉 👍👍"),
    ],
)
def test_text_as_people_write_it(text, expected):
    assert surfaces(text) == expected


def test_line_breaks_are_read_once(monkeypatch):
    """The rules are applied once for each stop, however many line breaks follow it."""
    text = "One. Two.\n" + "\n" * 450_000 + "Three."
    assert surfaces(text) == "One . | Two . | Three ."
    calls: list[int] = []
    end_after = english._end_after
    monkeypatch.setattr(english, "_end_after", lambda *args: calls.append(1) or end_after(*args))
    list(sentences(text))
    assert len(calls) < 10
