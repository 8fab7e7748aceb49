from treecrf.trees.search import Pattern, compiled
from treecrf.trees.tree import Tree


def test_search_without_compiled_code_gives_the_same_matches(monkeypatch):
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
    expected = [(match.position, match.positions) for match in Pattern("__ < __=child").find(tree)]
    monkeypatch.setattr(compiled, "matcher", None)
    pattern = Pattern("__ < __=child")
    assert [(match.position, match.positions) for match in pattern.find(tree)] == expected
    assert pattern.count([tree, tree]).matches == 2 * len(expected)
