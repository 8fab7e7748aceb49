import pytest

from treecrf.trees.search import clauses, noun_phrases, t_units
from treecrf.trees.tree import Tree


def rows(text: str) -> list[tuple[str, bool, str | None, str | None]]:
    def words(node: Tree | None) -> str | None:
        return None if node is None else " ".join(node.words)

    return [
        (clause.role, clause.is_finite, words(clause.subject), words(clause.verb))
        for clause in clauses(Tree.parse(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # complements and adverbials, coordinated inside of an SBAR
        (
            "(TOP (S (NP (PRP I)) (VP (VBP nap) (SBAR (IN because) (S (S (NP (PRP it)) (VP (VBZ rains)))"
            " (CC and) (S (NP (PRP we)) (VP (MD can) (VP (VB stay)))))))))",
            [("main", True, "I", "nap"), ("subordinate", True, "it", "rains"), ("subordinate", True, "we", "stay")],
        ),
        # relative clauses: with a gap in the subject, without a wh-word, and with an infinitive
        (
            "(S (NP (NP (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD left))))) (VP (VBD saw) (NP (NP (NN house))"
            " (SBAR (S (NP (PRP they)) (VP (VBD built)))) (SBAR (S (VP (TO to) (VP (VB sell))))))))",
            [
                ("main", True, "man who left", "saw"),
                ("relative", True, "who", "left"),
                ("relative", True, "they", "built"),
                ("relative", False, None, "sell"),
            ],
        ),
        # coordinated relative clauses
        (
            "(NP (NP (NN man)) (SBAR (SBAR (WHNP (WP who)) (S (VP (VBD came)))) (CC and) (SBAR (WHNP (WP who))"
            " (S (VP (VBD left))))))",
            [("relative", True, "who", "came"), ("relative", True, "who", "left")],
        ),
        # the complement of a noun is not a relative clause
        (
            "(NP (NP (DT the) (NN fact)) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD lied)))))",
            [("subordinate", True, "he", "lied")],
        ),
        # questions and inversions
        (
            "(SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (PRP you)) (VP (VB buy))) (. ?))",
            [("main", True, "you", "buy")],
        ),
        ("(SBARQ (WHNP (WP Who)) (SQ (VP (VBD left))) (. ?))", [("main", True, "Who", "left")]),
        ("(SQ (VBZ Is) (NP (PRP he)) (NP (DT a) (NN doctor)) (. ?))", [("main", True, "he", "Is")]),
        (
            "(SINV (`` ``) (S (NP (PRP We)) (VP (VBD lost))) ('' '') (VP (VBD said)) (NP (NNP Kim)))",
            [("main", True, "Kim", "said"), ("subordinate", True, "We", "lost")],
        ),
        # imperatives are finite and have no subject
        ("(S (SBAR (IN If) (S (NP (PRP you)) (VP (VBP go)))) (, ,) (VP (VB take) (NP (PRP it))))",
         [("main", True, None, "take"), ("subordinate", True, "you", "go")]),
        # the last noun phrase before the verb, and a clause as a subject
        ("(S (NP (NN Today)) (NP (PRP he)) (VP (VBZ naps)))", [("main", True, "he", "naps")]),
        (
            "(S (SBAR (IN That) (S (NP (PRP he)) (VP (VBD left)))) (VP (VBD hurt) (NP (PRP us))))",
            [("main", True, "That he left", "hurt"), ("subordinate", True, "he", "left")],
        ),
        # subjunctive and infinitive after a complementizer
        ("(VP (VBP ask) (SBAR (IN that) (S (NP (PRP he)) (VP (VB go)))))", [("subordinate", True, "he", "go")]),
        (
            "(VP (VBP wait) (SBAR (IN for) (S (NP (PRP him)) (VP (TO to) (VP (VB go))))))",
            [("subordinate", False, "him", "go")],
        ),
        # coordinated verb phrases are one clause; function tags do not matter
        ("(S (NP-SBJ (PRP We)) (VP (VP (VBD came)) (CC and) (VP (VBD left))))", [("main", True, "We", "came")]),
        ("(S (VP (VB Go) (CC and) (VP (VB sleep))))", [("main", True, None, "Go")]),
        # a coordination of clauses is none, and neither is a clause without a verb
        ("(S (NP (PRP We)) (VP (VBP find) (S (NP (PRP it)) (ADJP (JJ odd)))))", [("main", True, "We", "find")]),
        ("(FRAG (RB Not) (NP (DT this)))", []),
    ],
)  # fmt: skip
def test_clauses_have_roles_subjects_and_verbs(text, expected):
    assert rows(text) == expected


def test_clauses_have_spans():
    tree = Tree.parse("(TOP (S (NP (PRP We)) (VP (VBP know) (S (NP (PRP it)) (VP (VBZ works))))))")
    assert [(clause.start, clause.end, clause.node.label) for clause in clauses(tree)] == [(0, 4, "S"), (2, 4, "S")]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("(TOP (S (NP (PRP We)) (VP (VBD left) (SBAR (IN as) (S (NP (PRP it)) (VP (VBD rained)))))))",
         ["We left as it rained"]),
        ("(S (S (S (NN a)) (CC or) (S (NN b))) (CC and) (S (NN c)))", ["a", "b", "c"]),
        ("(FRAG (NP (DT this)))", ["this"]),
        ("(TOP (FRAG (S (NN a)) (S (NN b))))", ["b"]),
        ("(TOP (NP (NN x)))", []),
    ],
)  # fmt: skip
def test_t_units(text, units):
    assert sorted(" ".join(unit.words) for unit in t_units(Tree.parse(text))) == units


def test_a_preterminal_has_no_phrases():
    assert clauses(Tree.parse("(NN x)")) == t_units(Tree.parse("(NN x)")) == noun_phrases(Tree.parse("(NN x)")) == []


def test_coordinated_imperatives_are_finite_and_all_verbs_are_listed() -> None:
    text = "(S (VP (VP (VB Open) (NP (NN file))) (CC and) (VP (VB read) (NP (PRP it)))) (. .))"
    (clause,) = clauses(Tree.parse(text))
    assert clause.is_finite and [verb.words for verb in clause.verbs] == [["Open"], ["read"]]
    text = "(S (NP (PRP He)) (VP (VBD came) (, ,) (VBD saw) (CC and) (VBD left)) (. .))"
    (clause,) = clauses(Tree.parse(text))
    assert [str(verb) for verb in clause.verbs] == ["(VBD came)", "(VBD saw)", "(VBD left)"]
    (clause,) = clauses(Tree.parse("(S (NP (PRP He)) (VP (MD will) (, ,) (ADVP (RB so)) (, ,) (VP (VB go))))"))
    assert [str(verb) for verb in clause.verbs] == ["(VB go)"]


def test_a_subject_ends_before_the_comma_after_an_apposition() -> None:
    text = "(S (NP (NP (NNP Kim)) (, ,) (NP (DT a) (NN cook)) (, ,)) (VP (VBD left)))"
    (clause,) = clauses(Tree.parse(text))
    assert clause.subject is not None and clause.subject.words == ["Kim", ",", "a", "cook"]


@pytest.mark.parametrize(
    "text, subjects",
    [
        (
            "(S (NP-TMP (NN today)) (NP-SBJ-1 (PRP She)) (VP (VBD tried) (S (NP-SBJ (-NONE- *PRO*-1)) (VP (TO to) "
            "(VP (VB call))))))",
            ["She", "She"],
        ),
        (
            "(NP (NP (NN man)) (SBAR (WHNP-1 (WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBD left)))))",
            ["who"],
        ),
        ("(S (NP-SBJ (-NONE- *)) (NP-VOC (NNP Ann)) (VP (VB go)))", [None]),
        ("(S (NP-SBJ-1 (-NONE- *-1)) (VP (VB go)))", [None]),
        ("(S (NP-SBJ-1 (-NONE- *-2)) (S (NP-2 (-NONE- *-1)) (VP (VB go))))", [None]),
        (
            "(S (NP-SBJ-1 (NNS cats)) (VP (VBP seem) (S (NP-SBJ-2 (-NONE- *-1)) (VP (TO to) (VP (VB try) (S (NP-SBJ-3 "
            "(-NONE- *PRO*-2)) (VP (TO to) (VP (VB want) (S (NP-SBJ (-NONE- *PRO*-3)) (VP (TO to) "
            "(VP (VB go))))))))))))",
            ["cats", "cats", "cats", "cats"],
        ),
        ("(S (NP-SBJ (PRP I)) (NP-ADV (NN myself)) (VP (VBP go)))", ["I"]),
        ("(S (NP-ADV (NN so)) (S-SBJ (VP (VBG going))) (VP (VBZ is) (ADJP-PRD (JJ good))))", ["going", None]),
    ],
)
def test_functions_and_antecedents_decide_about_subjects(text: str, subjects: list[str | None]) -> None:
    found = [clause.subject for clause in clauses(Tree.parse(text))]
    assert [subject and " ".join(subject.words) for subject in found] == subjects
