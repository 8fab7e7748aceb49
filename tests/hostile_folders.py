"""Generator of hostile model folders: a saved parser with one thing changed, and with the checksums of the change.

`mutations(folder)` has the changes. Loading must refuse those in tables of traps; after the others, a parser may have
other trees.
"""

import base64
import hashlib
import json
import math
import os
import random
import re
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MANIFEST, CONFIG, VOCABULARY, WEIGHTS = "model.json", "config.toml", "vocabulary.json", "model.safetensors"
ENCODER, TOKENIZER, SETTINGS = "config.json", "tokenizer.json", "tokenizer_config.json"
PRODUCTIONS = "productions.txt"
DEEP = b"[" * 100_000
ODD_NUMBERS = [0, -1, 1, 2, -7, 3, 10**9, 2**31, 2**63, 10**30, 1.5, -0.0, math.nan, math.inf, 1e308]
ODD_VALUES: list[Any] = [
    *ODD_NUMBERS,
    *(
        None,
        True,
        "",
        "x",
        "../../etc/passwd",
        "\ud800",
        "\x1b[2J\n",
        "A" * 100_000,
        [],
        {},
        [[]],
        {"a": 1},
        [1] * 5000,
    ),
]
ODD_TOML = [
    *("0", "-1", "2", "1000000000", "99999999999999999999", "9" * 5000, "1.5", "nan", "inf", "true", '"x"', '""', "[]"),
    *("{}", "1979-05-27", "[[1]]", '"\\u0000"', '"a\\nb"', "'''\n'''", "=", "", "[" * 4000, "{a=" * 2000),
]


def listed_files(folder: Path) -> list[str]:
    """The files of a folder, its manifest included."""
    return sorted(path.name for path in folder.iterdir())


def reseal(folder: Path) -> None:
    """Writes the manifest with the checksums of the files as they are now."""
    names = [path.name for path in folder.iterdir() if path.is_file() and path.name != MANIFEST]
    small = [name for name in names if not (folder / name).is_symlink() and (folder / name).stat().st_size < 1 << 28]
    digests = {name: [hashlib.sha256((folder / name).read_bytes()).hexdigest()] for name in small}
    digests |= {path.name: ["0" * 64] for path in folder.iterdir() if path.name not in (*small, MANIFEST)}
    (folder / MANIFEST).write_text(json.dumps({"format": 2, "sha256": digests}))


# files that are not files


def link_to(target: str) -> Callable[[Path, random.Random], None]:
    def trap(folder: Path, generator: random.Random) -> None:
        path = folder / generator.choice(listed_files(folder))
        path.unlink()
        path.symlink_to(target)

    return trap


def link_outside(folder: Path, generator: random.Random) -> None:
    """The content is right, but it is outside of the folder."""
    path = folder / generator.choice(listed_files(folder))
    path.rename(folder.with_name(f"outside-{path.name}"))
    path.symlink_to(folder.with_name(f"outside-{path.name}"))


def replace_by_pipe(folder: Path, generator: random.Random) -> None:
    path = folder / generator.choice(listed_files(folder))
    path.unlink()
    os.mkfifo(path)


def replace_by_socket(folder: Path, generator: random.Random) -> None:
    path = folder / generator.choice(listed_files(folder))
    path.unlink()
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{short}/socket")  # the name of a socket must be short
        Path(short, "socket").rename(path)


def replace_by_folder(folder: Path, generator: random.Random) -> None:
    path = folder / generator.choice(listed_files(folder))
    path.unlink()
    path.mkdir()


def make_sparse(folder: Path, generator: random.Random) -> None:
    os.truncate(folder / generator.choice(listed_files(folder)), generator.choice([1 << 27, 1 << 33, 1 << 39]))


def empty_file(folder: Path, generator: random.Random) -> None:
    (folder / generator.choice(listed_files(folder))).write_bytes(b"")


def deep_file(folder: Path, generator: random.Random) -> None:
    names = [name for name in listed_files(folder) if name != WEIGHTS]
    (folder / generator.choice(names)).write_bytes(generator.choice([DEEP, b'{"a":' * 50_000, b"a = " + DEEP]))


def foreign_manifest(folder: Path, generator: random.Random) -> None:
    digests: Any = generator.choice(
        [
            *({"../x": ["0"]}, {"/etc/passwd": ["0"]}, {".": ["0"]}, {}, [], None, {"a": [1]}, {"a": []}, {"a": "0"}),
            {f"f{number}": ["0" * 64] for number in range(700)},
        ]
    )
    (folder / MANIFEST).write_text(
        json.dumps({"format": generator.choice([1, 2, "2", 3, None, []]), "sha256": digests})
    )


# settings


def change_setting(folder: Path, line: str) -> None:
    """Replaces the line of a setting, or adds the line at the beginning."""
    text = (folder / CONFIG).read_text()
    name = line.partition(" ")[0]
    changed, count = re.subn(rf"(?m)^{re.escape(name)} = .*$", lambda _: line, text)
    (folder / CONFIG).write_text(changed if count else f"{line}\n{text}", errors="surrogatepass")


def setting(*lines: str) -> Callable[[Path, random.Random], None]:
    return lambda folder, generator: change_setting(folder, generator.choice(lines))


def dotted_keys(folder: Path, generator: random.Random) -> None:
    key = ".".join(["a"] * generator.choice([3000, 20_000]))
    (folder / CONFIG).write_text(f"{(folder / CONFIG).read_text()}\n{key} = 1\n")


def change_toml_value(folder: Path, generator: random.Random) -> None:
    lines = (folder / CONFIG).read_text().splitlines()
    number = generator.choice([number for number, line in enumerate(lines) if "=" in line])
    lines[number] = f"{lines[number].partition('=')[0]}= {generator.choice(ODD_TOML)}"
    (folder / CONFIG).write_text("\n".join(lines))


# JSON


def edit_json(folder: Path, name: str, edit: Callable[[Any], Any]) -> None:
    """Changes the value of a JSON file; `edit` changes it in place, or returns another one."""
    value = json.loads((folder / name).read_bytes())
    changed = edit(value)
    text = json.dumps(value if changed is None else changed)
    (folder / name).write_text(text, errors="surrogatepass")


def change_json_value(name: str) -> Callable[[Path, random.Random], None]:
    def change(folder: Path, generator: random.Random) -> None:
        edit_json(folder, name, lambda value: change_anywhere(value, generator))

    return change


def change_anywhere(value: Any, generator: random.Random) -> None:
    """Replaces, removes or repeats one part of a JSON value, at a random depth."""
    while True:
        if isinstance(value, dict) and value:
            key = generator.choice(list(value))
        elif isinstance(value, list) and value:
            key = generator.randrange(len(value))
        else:
            return
        if not isinstance(value[key], dict | list) or not value[key] or generator.random() < 0.3:
            break
        value = value[key]
    action = generator.random()
    if action < 0.7:
        value[key] = generator.choice(ODD_VALUES)
    elif action < 0.85:
        del value[key]
    elif isinstance(value, list):
        value.append(value[key])
    else:
        value[f"{key}x"] = value[key]


def vocabulary_trap(folder: Path, generator: random.Random) -> None:
    def edit(value: dict[str, Any]) -> None:
        name = generator.choice(["words", "chars", "labels", "tags"])
        items = value[name]
        kind = generator.randrange(8)
        if kind == 0:
            items[-1] = items[0]  # a duplicate
        elif kind == 1:
            items.append("more")
        elif kind == 2:
            items.pop()
        elif kind == 3:
            items[0] = generator.choice([1, None, [], {}, 1.5])
        elif kind == 4:
            value["labels"][-1] = generator.choice(
                ["A\nB", "A  B", ")(", "\x1b[2J", " ".join("A" * 500), "A" * 5000, "(A"]
            )
        elif kind == 5:
            value[generator.choice(list(value))] = generator.choice([1, "abc", {}, {"a": 1}, []])
        elif kind == 6:
            del value[name]
        else:
            value["extra"] = []

    edit_json(folder, VOCABULARY, edit)


def encoder_trap(folder: Path, generator: random.Random) -> None:
    def edit(value: dict[str, Any]) -> None:
        names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
        kind = generator.randrange(4)
        if kind == 0:
            value[generator.choice(names)] = generator.choice([0, -1, 7, 10**9, 10**30, "64", 64.5, None, True, []])
        elif kind == 1:
            value["layer_norm_eps"] = generator.choice([math.nan, math.inf, -1, "x", 10**400])
        elif kind == 2:
            value["max_position_embeddings"] = generator.choice([0, -512, 2, 10**9, "512"])
        else:
            value["pad_token_id"] = generator.choice([-1, 10**9, "0", 1.5])

    edit_json(folder, ENCODER, edit)


def foreign_encoder(folder: Path, generator: random.Random) -> None:
    """An encoder that transformers builds: another architecture, or one that loads code or weights from elsewhere."""

    def edit(value: dict[str, Any]) -> None:
        value["model_type"] = generator.choice(["roberta", "gpt2", "timm_wrapper", "../x", "", 5, None, "clip", "bert"])
        name, setting = generator.choice(
            [
                *(
                    ("auto_map", {"AutoModel": "x--y.Z"}),
                    ("attn_implementation", "someone/kernel"),
                    ("is_decoder", True),
                ),
                *(("num_hidden_layers", 10**6), ("num_labels", 10**9), ("hidden_act", "none"), ("hidden_size", 10**6)),
                *(("quantization_config", {"load_in_8bit": True}), ("backbone", "x"), ("n_layer", 10**7)),
            ]
        )
        value[name] = setting

    edit_json(folder, ENCODER, edit)


def length_trap(folder: Path, generator: random.Random) -> None:
    length = generator.choice([2, -7, 1, 3, "512", True, [], math.nan, -(10**30)])
    edit_json(folder, SETTINGS, lambda value: value.update(model_max_length=length))


def tokenizer_trap(folder: Path, generator: random.Random) -> None:
    growing = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}
    changes: list[dict[str, Any]] = [
        {"normalizer": growing},
        {"normalizer": {"type": "Sequence", "normalizers": [{**growing, "content": "aaa"}] * 15}},
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\xff" * 9).decode()}},
        {"normalizer": {"type": "Replace", "pattern": {"Regex": "(a*)*"}, "content": "b"}},
        {"pre_tokenizer": slow},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [slow] * 3}},
        {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Isolated", "invert": False}},
        {"added_tokens": [{"id": 10**6, "content": "cat"}]},
        {"added_tokens": "x"},
        {"model": None},
        {"model": {"type": "WordPiece", "vocab": {"cat": -1}, "unk_token": "[UNK]"}},
        {"model": {"type": "WordPiece", "vocab": {"cat": 1 << 40}, "unk_token": "[UNK]"}},
        {"model": {"type": "BPE", "vocab": {"c": 0}, "merges": [["x", "y"]], "dropout": 0.5}},
        {"model": {"type": "Unigram", "vocab": [["a", 0.0]] * 40_000, "unk_id": 0}},
    ]
    edit_json(folder, TOKENIZER, lambda value: value.update(generator.choice(changes)))


def long_words(folder: Path, generator: random.Random) -> None:
    edit_json(folder, TOKENIZER, lambda value: value["model"].update(max_input_chars_per_word=10**9))


# productions


def production_trap(folder: Path, generator: random.Random) -> None:
    symbols = "".join(f"1 A{number} B{number}\n" for number in range(50_000))
    lines = ["\n", "NP NN\n", "3 NP\n", "-3 NP NN\n", "1 NP  NN\n", "x NP NN\n", f"{'9' * 5000} NP NN\n", symbols]
    (folder / PRODUCTIONS).write_text(generator.choice(lines))


def change_productions(folder: Path, generator: random.Random) -> None:
    """Productions that are slow to read or odd, but that a parser can use."""
    lines = ["0 NP NN\n", f"{'9' * 300} NP NN\n", "1 NP NN\r\n", "1 NP\0 NN\n", "1 NP \\u{110000}\n"]
    long = [f"1 NP {'NP ' * 500_000}NN\n", "1 NP NN\n" * (1 << 19)]
    (folder / PRODUCTIONS).write_text(generator.choice(lines + long), newline="")


# weights


def split_weights(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the numbers of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def join_weights(header: Any, numbers: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + numbers


def choose_weights(folder: Path, generator: random.Random) -> Path:
    """The weights of the network, or of its conditions if it has any."""
    return generator.choice(sorted(folder.glob("*.safetensors")))


def edit_header(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    header, numbers = split_weights(path.read_bytes())
    header.pop("__metadata__", None)
    changed = edit(header)
    path.write_bytes(join_weights(header if changed is None else changed, numbers))


def change_header(folder: Path, generator: random.Random) -> None:
    edit_header(choose_weights(folder, generator), lambda header: change_anywhere(header, generator))


def header_trap(folder: Path, generator: random.Random) -> None:
    def edit(header: dict[str, Any]) -> Any:
        names = sorted(header)
        name = generator.choice(names)
        entry = header[name]
        shape = entry["shape"]
        kind = generator.randrange(7)
        if kind == 0:
            entry["shape"] = generator.choice([[*shape, 1], [10**9, 10**9], [-1], [1.5], ["1"], 3, [1] * 40, []])
        elif kind == 1:
            types: list[Any] = ["F64", "I64", "BOOL", "U8", "I8", 5, "F4", "X"]
            entry["dtype"] = generator.choice([one for one in types if one != entry["dtype"]])
        elif kind == 2:
            entry["data_offsets"] = generator.choice([[0, 4], [4, 0], [-4, 0], [0, 1 << 60], [], "x"])
        elif kind == 3:
            del header[name]
        elif kind == 4:
            header["scale/" + name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}
        elif kind == 5:
            header["more"] = entry
        else:
            return generator.choice(
                [DEEP, b"", b"{", b"[]", b"3", b"\xff", b'{"a": {}}', b'{"__metadata__": {"a": 1}}']
            )
        return None

    edit_header(choose_weights(folder, generator), edit)


def header_length(folder: Path, generator: random.Random) -> None:
    path = choose_weights(folder, generator)
    length = generator.choice([0, 1, 1 << 40, (1 << 64) - 1])
    path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])


def header_bomb(folder: Path, generator: random.Random) -> None:
    """A header with very many weights, dimensions, digits or spaces."""
    empty = '{"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}'
    more = [
        ", ".join(f'"x{number}": {empty}' for number in range(generator.choice([50_000, 200_000]))),
        f'"x": {{"dtype": "F32", "shape": [{", ".join("1" * 1_000_000)}], "data_offsets": [0, 4]}}',
        f'"x": {{"dtype": "F32", "shape": [{"9" * 4000}], "data_offsets": [0, 0]}}',
        f'"{"x" * 4_000_000}": {empty}',
        f'"__metadata__": {{"a": {"[" * 90_000}{"]" * 90_000}}}',
        " " * (1 << 22) + f'"x": {empty}',
    ]

    def edit(header: dict[str, Any]) -> bytes:
        return f"{json.dumps(header)[:-1]}, {generator.choice(more)}}}".encode()

    edit_header(choose_weights(folder, generator), edit)


def broadcast_scales(folder: Path, generator: random.Random) -> None:
    """One row of bytes and a column of scales, which would become a large matrix, or the reverse."""
    header, numbers = split_weights((folder / WEIGHTS).read_bytes())
    header.pop("__metadata__", None)
    name = generator.choice(
        [name for name, entry in header.items() if len(entry["shape"]) > 1 and "scale/" not in name]
    )
    rows, columns = generator.choice([(1, 30_000), (30_000, 1)])
    start = len(numbers)
    header[name] = {"dtype": "I8", "shape": [rows, 30_000], "data_offsets": [start, start + rows * 30_000]}
    start += rows * 30_000
    if start > 1 << 24:  # keep the file small
        header[name]["data_offsets"][1] = start = len(numbers) + 30_000
        header[name]["shape"] = [30_000, 1]
    size = 4 * rows * columns
    header[f"scale/{name}"] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [start, start + size]}
    (folder / WEIGHTS).write_bytes(join_weights(header, numbers + bytes(start + size - len(numbers))))


def bad_number(folder: Path, generator: random.Random) -> None:
    """One weight is NaN or infinite."""
    header, numbers = split_weights((folder / WEIGHTS).read_bytes())
    floats = [entry for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"]
    start, end = generator.choice(floats)["data_offsets"]
    place = start + 4 * generator.randrange((end - start) // 4)
    number = generator.choice([math.nan, math.inf, -math.inf, 3e38])
    changed = numbers[:place] + struct.pack("<f", number) + numbers[place + 4 :]
    (folder / WEIGHTS).write_bytes(join_weights(header, changed))


def large_numbers(folder: Path, generator: random.Random) -> None:
    """All weights are finite, but products of them are not."""
    header, numbers = split_weights((folder / WEIGHTS).read_bytes())
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32" and "LayerNorm" not in name:
            start, end = entry["data_offsets"]
            values = struct.pack(f"<{(end - start) // 4}f", *(9e29 for _ in range((end - start) // 4)))
            numbers = numbers[:start] + values + numbers[end:]
    (folder / WEIGHTS).write_bytes(join_weights(header, numbers))


def change_bytes(folder: Path, generator: random.Random) -> None:
    """Cuts, extends or overwrites a file at a random place."""
    path = folder / generator.choice(listed_files(folder))
    data = path.read_bytes()
    place = generator.randrange(min(len(data), 4000))
    junk = generator.randbytes(generator.choice([1, 8, 100]))
    path.write_bytes(generator.choice([data[:place], data + junk, data[:place] + junk + data[place + len(junk) :]]))


Mutation = Callable[[Path, random.Random], None]
TRAPS: dict[str, Mutation] = {
    **{f"a link to {target}": link_to(target) for target in ("/etc/passwd", "/dev/zero", "absent", "..", "model.json")},
    "a link to a file outside": link_outside,
    "a pipe": replace_by_pipe,
    "a socket": replace_by_socket,
    "a folder": replace_by_folder,
    "a sparse file": make_sparse,
    "an empty file": empty_file,
    "deep nesting": deep_file,
    "a foreign manifest": foreign_manifest,
    "a base": setting('base = "/etc/passwd"', 'base = "config.toml"', 'base = "../x"', "base = 3", "base = {a = 1}"),
    "dotted keys": dotted_keys,
    "absurd sizes": setting(
        *("word_size = 1000000000", "lstm_layers = 100000000", "lstm_size = -1", "label_size = 0", "span_size = 40000"),
        *("char_size = 99999999999999999999", "transformer_layers = 30000", "char_size = 3", "word_size = true"),
    ),
    "an odd calibration": setting("calibration = [nan, 1.0, 0.0]", "calibration = [1e300, 1, 0]", "calibration = [1]"),
    "an odd threshold": setting("f1_threshold = nan", "f1_threshold = -1", "f1_threshold = inf", "f1_threshold = 7"),
    "an odd root": setting('root = "a\\nb"', 'root = "\\u001b[2J"', "root = 3"),
    "vocabulary": vocabulary_trap,
    "a header": header_trap,
    "the length of the header": header_length,
    "a header bomb": header_bomb,
    "broadcast scales": broadcast_scales,
    "a number that is not finite": bad_number,
}
BERT_TRAPS: dict[str, Mutation] = {
    "the shape of the encoder": encoder_trap,
    "the length of segments": length_trap,
    "a tokenizer": tokenizer_trap,
    "long words": long_words,
}
CHANGES: dict[str, Mutation] = {
    "a setting": change_toml_value,
    "a value of the vocabulary": change_json_value(VOCABULARY),
    "a value of the header": change_header,
    "bytes": change_bytes,
    "numbers that overflow": large_numbers,
}
PRODUCTION_TRAPS: dict[str, Mutation] = {"productions": production_trap}
PRODUCTION_CHANGES: dict[str, Mutation] = {"odd productions": change_productions}
BERT_CHANGES: dict[str, Mutation] = {
    "a value of the encoder": change_json_value(ENCODER),
    "a value of the tokenizer": change_json_value(TOKENIZER),
    "a value of the tokenizer's settings": change_json_value(SETTINGS),
    "a foreign encoder": foreign_encoder,
}


def mutations(folder: Path) -> Iterator[tuple[str, Mutation, bool]]:
    """The mutations of a folder, with their names, and whether loading must refuse them."""
    groups = [(TRAPS, True), (CHANGES, False)]
    if (folder / ENCODER).exists():
        groups += [(BERT_TRAPS, True), (BERT_CHANGES, False)]
    if (folder / PRODUCTIONS).exists():
        groups += [(PRODUCTION_TRAPS, True), (PRODUCTION_CHANGES, False)]
    for group, is_refused in groups:
        yield from ((name, mutation, is_refused) for name, mutation in group.items())


def apply_mutation(folder: Path, mutation: Mutation, generator: random.Random) -> None:
    """Changes a folder; its manifest gets the new checksums, unless it is what was changed."""
    before = (folder / MANIFEST).read_bytes()
    mutation(folder, generator)
    path = folder / MANIFEST
    is_same_size = path.is_file() and not path.is_symlink() and path.stat().st_size == len(before)
    if is_same_size and path.read_bytes() == before:
        reseal(folder)
