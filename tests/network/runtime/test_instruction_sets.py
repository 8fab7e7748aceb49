"""Every instruction set against plain C, bit for bit; ARM instruction sets in an emulator."""

import os
import platform
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from compiled_calls import run_calls
from network.runtime.layers import MPNET, ragged_pieces, random_array, random_bert_weights
from small import random_parser
from toygrammar import toy_trees
from treecrf.network.runtime import int8
from treecrf.network.runtime.int8 import Linear, instruction_set
from treecrf.network.runtime.weights import NARROW_LEVELS, WIDE_LEVELS, Matrix
from treecrf.parser import Parser

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src" / "treecrf" / "network" / "runtime"
FLAGS = ["-O1", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror"]
X86 = ("avx512vnni", "avxvnni", "avx2")
ARM = ("neon", "neon-i8mm")
JOBS = "210"
NOT_SUPPORTED = 3  # the exit status for an instruction set that the processor does not have


def compile_comparison(compiler: str, target: Path, *flags: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    sources = [str(HERE / "compare_kernels.c"), *map(str, SOURCE.glob("kernels_*.c"))]
    subprocess.run([compiler, *FLAGS, *flags, "-o", str(target), *sources, "-lm"], check=True)
    return target


def compare(command: list[str], name: str) -> None:
    done = subprocess.run([*command, "scalar", name, JOBS], capture_output=True, text=True, check=False)
    if done.returncode == NOT_SUPPORTED:
        pytest.skip(done.stdout.strip())
    assert (done.returncode, done.stdout) == (0, f"{JOBS} of {JOBS} jobs agree\n")


@pytest.fixture(scope="module", params=["gcc", "clang"])
def comparison(request, tmp_path_factory):
    return compile_comparison(request.param, tmp_path_factory.mktemp("kernels") / "compare")


@pytest.mark.parametrize("name", X86)
def test_instruction_sets_of_this_processor_equal_plain_c(comparison, name):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("these are instruction sets of x86-64")
    compare([str(comparison)], name)


@pytest.fixture(scope="module")
def arm_comparison(tmp_path_factory):
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("there is no qemu-aarch64: apt install qemu-user gcc-aarch64-linux-gnu")
    return compile_comparison("aarch64-linux-gnu-gcc", tmp_path_factory.mktemp("arm") / "compare", "-static")


@pytest.mark.parametrize("name", ARM)
def test_instruction_sets_of_arm_equal_plain_c(arm_comparison, name):
    compare(["qemu-aarch64", "-cpu", "max", str(arm_comparison)], name)


@pytest.fixture
def kernels():
    if not int8.is_compiled:
        pytest.skip("treecrf was installed without its compiled parts")
    before = int8._kernels.selected()
    yield int8._kernels
    int8._kernels.select(before)


def test_the_best_instruction_set_is_selected_and_others_can_be(kernels):
    names = kernels.instruction_sets()
    assert names[-1] == "scalar" and instruction_set() == os.environ.get("TREECRF_ISA", names[0])
    x, linear = random_array(9, 40), Linear(Matrix(random_array(70, 40, seed=1)))
    results = {}
    for name in names:
        kernels.select(name)
        results[name] = linear(x)
    for name in names:
        assert np.array_equal(results[name], results["scalar"])
    with pytest.raises(ValueError, match="does not have the instruction set 'mmx'"):
        kernels.select("mmx")


def test_products_are_added_with_one_rounding_by_every_instruction_set(kernels):
    x = np.float32(1 + 2**-12)
    linear = Linear(Matrix(np.full((1, 1), 127 * x)), np.full(1, 2**-60, np.float32))
    for name in kernels.instruction_sets():  # x * x is in the middle between two floats, and the bias is above zero
        kernels.select(name)
        assert linear(np.full((1, 1), x / np.float32(127))).item() == np.nextafter(x * x, np.float32(2)), name


@pytest.mark.parametrize("levels", [NARROW_LEVELS, WIDE_LEVELS])
def test_the_scores_of_distances_are_added_with_equal_bits_by_every_instruction_set(kernels, levels):
    encoder, (pieces, lengths) = int8.Bert(MPNET, random_bert_weights(MPNET), levels=levels), ragged_pieces(width=170)
    results = []
    for name in kernels.instruction_sets():
        kernels.select(name)
        hidden = encoder(pieces, lengths, np.ones(1, np.float32))
        results.append([row[:length] for row, length in zip(hidden, lengths, strict=True)])
    for result in results:
        assert all(map(np.array_equal, result, results[0]))


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", ["scalar", "avx2"])
def test_trees_do_not_depend_on_the_batch_with_any_instruction_set(kernels, name, precision, tmp_path):
    if name not in kernels.instruction_sets():
        pytest.skip(f"this processor does not have {name}")
    kernels.select(name)
    trees = toy_trees(30)
    random_parser(trees, tag_head=True).save(tmp_path / "parser")
    parser = Parser.load(tmp_path / "parser", "cpu", precision=precision)
    sentences = [tree.words for tree in trees]
    together = list(parser.brackets_many(sentences))
    assert together == [line for words in sentences for line in parser.brackets_many([words])]


SENTENCE = ["the", "old", "cat", "that", "sat", "on", "the", "mat", "saw", "two", "dogs", "and"]


@pytest.mark.parametrize(("model", "precision"), [("en", "int8"), ("en-lstm", "int8"), ("en-lstm", "int14")])
def test_trees_of_real_models_do_not_depend_on_batches_threads_and_instruction_sets(
    kernels, model, precision, monkeypatch
):
    sentences = [SENTENCE[:length] for length in range(1, len(SENTENCE) + 1)]  # more words than one batch of a thread
    parser = Parser.load(model, "cpu", precision=precision)
    runs = []
    for name in kernels.instruction_sets():
        kernels.select(name)
        for threads in (1, 2):
            monkeypatch.setattr("treecrf.threads._chosen_count", threads)
            runs.append(list(parser.brackets_many(sentences)))
            runs.append([line for words in sentences for line in parser.brackets_many([words])])
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize(("name", "code", "text"), [("scalar", 0, "scalar"), ("mmx", 1, "TREECRF_ISA is 'mmx'")])
def test_an_environment_variable_names_the_instruction_set(kernels, name, code, text):
    program = "from treecrf.network.runtime.int8 import instruction_set; print(instruction_set())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREECRF_ISA": name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code and text in done.stdout + done.stderr


HOSTILE = [
    ("linear", (0, 1, -1, 4, 4, 4, 1.0, 1, 1, 1, 1), "size 0 is -1"),
    ("linear", (0, 1, 1 << 50, 4, 4, 4, 1.0, 1, 1, 1, 1), "size 0 is 1125899906842624"),
    ("linear", (0, 1, 1, 4, 4, 4, 1.0, 0, 1, 1, 1), "address 0 is null"),
    ("pack", (1 << 30, 1 << 30, 1, 1, 1, 1), "the sizes are too large"),
    ("score_chart", (0, 1, 1, 1, 0, 1, 1, 1, 1, 1), "size 0 is 0"),
    ("mean_pool", (1, 4, -1, 1, 1, 1, 1, 1, 1), "size 0 is -1"),
    ("encode", (0, 1, 1, 1, 1, 64, 1, 64, 1, 1, -1, 0.1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "size 0 is -1"),
    ("encode", (0, 1, 1, 1, 1, 64, 4, 64, 1, 1, 1 << 38, 0.1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "the sizes are too large"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), HOSTILE)
def test_sizes_and_addresses_are_checked(kernels, name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(kernels, name)(*arguments)


def test_indices_are_checked(kernels):
    x, out = np.zeros((3, 16), np.float32), np.zeros((2, 16), np.float32)
    fields = {"rows": [0], "positions": [0], "counts": [1]}
    for name, value, message in [
        ("rows", 3, "row 0 is 3"),
        ("positions", 2, "position 0 is 2"),
        ("counts", 0, "share 0"),
    ]:
        indices = [np.array(column) for column in (fields | {name: [value]}).values()]
        addresses = [array.ctypes.data for array in (x, *indices, out)]
        with pytest.raises(ValueError, match=message):
            kernels.mean_pool(1, 16, 2, 3, *addresses)


def test_random_and_hostile_calls_are_computed_or_refused(kernels):
    random_calls = import_module("network.runtime.random_calls")  # imports the compiled code
    assert 20 < run_calls(random_calls.run_case, 1000, seed=5).refused < 250
