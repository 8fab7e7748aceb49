"""Types of NumPy arrays, one name for each element type."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Reals = npt.NDArray[np.floating[Any]]  # float32 or float64
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
