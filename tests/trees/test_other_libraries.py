import pytest

from treecrf.trees.other_libraries import explain_names, explain_options, explained, hints
from treecrf.trees.tree import Tree


def test_names_of_other_libraries_have_one_line_of_advice() -> None:
    advice = hints("Tree")
    assert advice.keys().isdisjoint(name for name in vars(Tree) if not hasattr(vars(Tree)[name], "message"))
    assert all(line and "\n" not in line for line in advice.values())
    assert hints("NoSuchClass") == {}
    assert explained("Tree", "no attribute 'to_latex'", "to_latex") == f"no attribute 'to_latex'; {advice['to_latex']}"
    assert explained("Tree", "no attribute 'x'", "x") == "no attribute 'x'"


def test_a_class_with_explained_names_has_only_its_own() -> None:
    tree = explain_names(type("Tree", (), {"words": ("a",)}))()
    with pytest.raises(AttributeError, match=r"'Tree' object has no attribute 'to_latex': .*svg"):
        tree.to_latex  # noqa: B018
    assert "words" in dir(tree) and "to_latex" not in dir(tree)
    assert getattr(tree, "to_latex", None) is None


def test_options_of_a_function_are_its_own() -> None:
    @explain_options
    def parse(text: str, *, lang: str = "en") -> str:
        return text + lang

    assert parse("a ", lang="es") == "a es"
    with pytest.raises(TypeError, match=r"parse\(\) has no argument 'gpu': "):
        parse("a", gpu=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'banana'"):
        parse("a", banana=1)  # type: ignore[call-arg]
