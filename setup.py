"""The compiled parts of treecrf; all else about the package is in pyproject.toml.

Without a C compiler, the package is installed without them. The build says so, and makes a wheel for every platform.
"""

import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# One wheel for every Python from 3.10 on, except the free-threaded ones, which have no stable ABI yet.
abi3 = not sysconfig.get_config_var("Py_GIL_DISABLED")
posix = os.name == "posix"
# no fused multiply-adds but those that are written: instruction sets then give the same numbers, bit for bit
EXACT = ["-ffp-contract=off"]
MISSING_PARTS = (
    "treecrf: these compiled parts are missing, and parsing is slow without them: {names}. Install a C compiler, such "
    "as gcc or clang, and install treecrf again."
)
TERMINAL = Path("/dev/tty")
PORTABLE, MODULE = "src/treecrf/chart/portable.h", "src/treecrf/trees/extension_module.h"
WORDS = "src/treecrf/trees/treebank/words.h"


class BuildExtensions(build_ext):
    """Compiles the extensions, and says which ones could not be compiled."""

    def run(self) -> None:
        super().run()
        missing = [extension for extension in self.extensions if not self._is_built(extension)]
        if missing:
            _warn(MISSING_PARTS.format(names=", ".join(extension.name for extension in missing)))
        self.extensions = [extension for extension in self.extensions if extension not in missing]
        self.distribution.ext_modules = self.extensions

    def _is_built(self, extension: Extension) -> bool:
        return Path(self.get_ext_fullpath(extension.name)).is_file()


class BuildWheel(bdist_wheel):
    """Builds the wheel; one without compiled parts is tagged py3-none-any."""

    def run(self) -> None:
        self.run_command("build_ext")
        if not self.distribution.has_ext_modules():
            self.root_is_pure = True
            self.py_limited_api = False
        super().run()


def _warn(message: str) -> None:
    """Prints a warning. pip hides the output of a build, so it is also written to the terminal, if there is one."""
    print(message, file=sys.stderr)
    if not sys.stderr.isatty():
        try:
            with TERMINAL.open("w") as terminal:
                print(message, file=terminal)
        except OSError:
            pass  # no terminal


def sources(package: str, pattern: str) -> list[str]:
    """The files of a package, in a fixed order."""
    return sorted(path.as_posix() for path in Path("src/treecrf", package).glob(pattern))


def extension(name: str, *sources: str, flags: Sequence[str] = (), headers: Sequence[str] = ()) -> Extension:
    """A module in C, without which the package still works."""
    return Extension(
        name,
        list(sources),
        depends=[MODULE, *headers],
        define_macros=[("Py_LIMITED_API", "0x030A0000")] if abi3 else [],
        py_limited_api=abi3,
        extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", *flags] if posix else [],
        libraries=["m"] if posix else [],
        optional=True,
    )


setup(
    cmdclass={"build_ext": BuildExtensions, "bdist_wheel": BuildWheel},
    ext_modules=[
        extension("treecrf.chart._cpu_backend", *sources("chart", "*.c"), headers=sources("chart", "*.h")),
        extension(
            "treecrf.network.runtime._kernels",
            *sources("network/runtime", "*.c"),
            headers=[PORTABLE, *sources("network/runtime", "*.h")],
            flags=EXACT,
        ),
        extension(
            "treecrf.parser.decoding._decoding",
            *sources("parser/decoding", "*.c"),
            headers=[PORTABLE, "src/treecrf/parser/decoding/module.h"],
            flags=EXACT,
        ),
        extension(
            "treecrf.trees.search._matcher", *sources("trees/search", "*.c"), headers=sources("trees/search", "*.h")
        ),
        extension(
            "treecrf.trees.treebank._bracket_writer",
            "src/treecrf/trees/treebank/bracket_writer.c",
            headers=[WORDS],
        ),
        extension(
            "treecrf.trees.treebank._word_table",
            "src/treecrf/trees/treebank/word_table.c",
            headers=[WORDS, "src/treecrf/trees/treebank/word_table.h"],
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if abi3 else {},
)
