"""The compiled parts of treecrf; all else about the package is in pyproject.toml."""

import os
import sysconfig

from setuptools import Extension, setup

# One wheel for every Python from 3.10 on, except the free-threaded ones, which have no stable ABI yet.
abi3 = not sysconfig.get_config_var("Py_GIL_DISABLED")
posix = os.name == "posix"

setup(
    ext_modules=[
        Extension(
            "treecrf.chart._compiled",
            ["src/treecrf/chart/compiled.c"],
            define_macros=[("Py_LIMITED_API", "0x030A0000")] if abi3 else [],
            py_limited_api=abi3,
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math"] if posix else [],
            libraries=["m"] if posix else [],
            optional=True,  # without a compiler the chart runs on plain tensors
        ),
        Extension(
            "treecrf._brackets",
            ["src/treecrf/brackets.c"],
            define_macros=[("Py_LIMITED_API", "0x030A0000")] if abi3 else [],
            py_limited_api=abi3,
            extra_compile_args=["-O3"] if posix else [],
            optional=True,  # without a compiler lines are written in Python
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if abi3 else {},
)
