"""Array types of the whole library. NumPy only: certificates import this file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int32]
RowArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
# Numeric columns: dense, or sparse in canonical form (see ``numeric_columns``). Type hints that are resolved at run time find a
# name here too, without SciPy.
if TYPE_CHECKING:
    NumericArray: TypeAlias = FloatArray | scipy.sparse.csr_array
else:
    NumericArray = Any
