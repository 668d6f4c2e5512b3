"""Methods with one answer per row, on Dask tables: the answer is a dask array, computed by partitions on demand."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted, validate_data

from surefoot.core.arrays import AnyArray
from surefoot.design.read.dask_table import columns_of, is_dask, map_partitions

Method = TypeVar("Method", bound=Callable[..., Any])


def lazy_on_dask(no_rows: Callable[[Any], AnyArray]) -> Callable[[Method], Method]:
    """Decorate a method of a fitted model; ``no_rows(model)`` is its answer to a table without rows."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def answer(model: Any, X: Any) -> Any:
            if not is_dask(X):
                return method(model, X)
            check_is_fitted(model)
            # Names and number of columns are known already, and a mistake in them should not wait for the workers.
            validate_data(model, columns_of(X), reset=False, skip_check_array=True)
            # The proof may be as large as the training table; predictions do without it.
            light = copy.copy(model)
            for name in ("outcome_", "certificate_"):
                light.__dict__.pop(name, None)
            return map_partitions(X, partial(method, light), no_rows(model))

        return answer  # type: ignore[return-value]

    return decorate
