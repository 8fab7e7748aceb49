from html.parser import HTMLParser

from treecrf.trees.drawing import page, svg
from treecrf.trees.tree import Tree


def test_a_page_contains_every_picture_and_escapes_captions():
    pictures = [(f"{number}. <b>&", svg(Tree.parse(f"(NP (NN w{number}))"))) for number in (1, 2)]
    html = page(pictures, title="a < b", theme="dark")
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert tags.count("svg") == tags.count("figure") == 2 and "b" not in tags and "script" not in tags
    assert all(picture in html for _, picture in pictures)
    assert "1. &lt;b&gt;&amp;" in html and "<title>a &lt; b</title>" in html
