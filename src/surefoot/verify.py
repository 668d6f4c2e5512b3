"""``sf.verify(model, X, y)``, and ``python -m surefoot.verify PROOF``: the verifier alone.

The function is :func:`surefoot.sklearn_api.verification.verify`. The program reads a proof file, which
:func:`surefoot.export_proof` writes or anybody else, and needs NumPy and the trusted base only. So that both can go by one name
the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["verify"]


def verify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    arithmetic: str = "double",
) -> Any:
    """Check the proof of a model once more, from the rows that it was fitted to; call it as ``surefoot.verify(model, X, y)``.

    Parameters
    ----------
    model : fitted estimator of surefoot, or a pipeline that ends with one
    X, y : the rows and labels that it was fitted to, in the same order
    sample_weight, groups : array-like of shape (n_rows,), optional
        As in the fit.
    arithmetic : {"double", "ball"}, default="double"

    Returns
    -------
    Certificate
        Of this model, on these rows, made now.

    Raises
    ------
    CertificateError
        If rows, settings or model are not those of the proof, or there is no witness.

    See Also
    --------
    surefoot.sklearn_api.verification.verify : the same with all details.
    """
    from surefoot.sklearn_api.verification import verify as check

    return check(model, X, y, sample_weight=sample_weight, groups=groups, arithmetic=arithmetic)


class _CallableModule(ModuleType):
    """The module, which answers like the function when it is called."""

    def __call__(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        arithmetic: str = "double",
    ) -> Any:
        return verify(model, X, y, sample_weight=sample_weight, groups=groups, arithmetic=arithmetic)


if __name__ == "__main__":
    from surefoot.proofs.program import main

    raise SystemExit(main())

sys.modules[__name__].__class__ = _CallableModule
