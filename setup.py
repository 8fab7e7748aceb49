"""The compiled parts of treecrf; all else about the package is in pyproject.toml."""

import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from setuptools import Extension, setup

# One wheel for every Python from 3.10 on, except the free-threaded ones, which have no stable ABI yet.
abi3 = not sysconfig.get_config_var("Py_GIL_DISABLED")
posix = os.name == "posix"
# no fused multiply-adds but those that are written: instruction sets then give the same numbers, bit for bit
EXACT = ["-ffp-contract=off"]


def sources(package: str, pattern: str) -> list[str]:
    """The files of a package, in a fixed order."""
    return sorted(path.as_posix() for path in Path("src/treecrf", package).glob(pattern))


def extension(name: str, *sources: str, flags: Sequence[str] = (), headers: Sequence[str] = ()) -> Extension:
    """A module in C, without which the package still works."""
    return Extension(
        name,
        list(sources),
        depends=list(headers),
        define_macros=[("Py_LIMITED_API", "0x030A0000")] if abi3 else [],
        py_limited_api=abi3,
        extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", *flags] if posix else [],
        libraries=["m"] if posix else [],
        optional=True,
    )


setup(
    ext_modules=[
        extension("treecrf.chart._cpu_backend", "src/treecrf/chart/cpu_backend.c"),
        extension(
            "treecrf.runtime._kernels", *sources("runtime", "*.c"), headers=sources("runtime", "*.h"), flags=EXACT
        ),
        extension("treecrf.decoding._best_children", "src/treecrf/decoding/best_children.c", flags=EXACT),
        extension("treecrf.search._matcher", *sources("search", "*.c"), headers=sources("search", "*.h")),
        extension("treecrf.treebank._bracket_writer", "src/treecrf/treebank/bracket_writer.c"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if abi3 else {},
)
