"""``sf.verify(model, X, y)``, and ``python -m surefoot.verify PROOF``: the verifier alone.

The function is :func:`surefoot.sklearn_api.verification.verify`. The program reads a proof file, which
:func:`surefoot.export_proof` writes or anybody else, and needs NumPy and the trusted base only. So that both can go by one name
the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


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
        from surefoot.sklearn_api.verification import verify

        return verify(model, X, y, sample_weight=sample_weight, groups=groups, arithmetic=arithmetic)


if __name__ == "__main__":
    from surefoot.proofs.program import main

    raise SystemExit(main())

sys.modules[__name__].__class__ = _CallableModule
