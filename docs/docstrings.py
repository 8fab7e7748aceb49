"""Prepares docstrings for the site: fences their examples, and uses comments on fields as docstrings."""

import re

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # from the first prompt to the next empty line
_COMMENT = re.compile(r"  # (.+)")


class Docstrings(griffe.Extension):
    """Changes the docstrings that the API reference shows."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Fences the examples of a docstring."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: object) -> None:
        """Uses the comment at the end of a field's line as its docstring."""
        comment = attr.lineno and _COMMENT.search(attr.lines_collection[attr.filepath][attr.lineno - 1])
        if comment and not attr.docstring:
            attr.docstring = griffe.Docstring(comment[1], parent=attr)
