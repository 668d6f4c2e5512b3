"""``export_proof``: what proves a model, as a file for ``python -m surefoot.verify``."""

from __future__ import annotations

import numbers
import os
from typing import Any

from surefoot.core.new_file import require_free
from surefoot.exceptions import CertificateError
from surefoot.proofs.judge import certificate_of
from surefoot.proofs.proof_file import Proof, write_proof
from surefoot.sklearn_api.proven_model import refitted
from surefoot.sklearn_api.senseless_parts import refusing_senseless
from surefoot.sklearn_api.verification import proof_parts, require_same


def export_proof(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    sample_weight: Any = None,
    groups: Any = None,
    overwrite: bool = False,
    machine: int | None = None,
) -> None:
    """Write problem, model and witness to a file that ``python -m surefoot.verify`` judges with NumPy and the trusted base.

    The file holds the training rows as numbers; guard it as you guard them.

    Parameters
    ----------
    model, X, y, sample_weight, groups
        As for :func:`surefoot.verify`: the rows must be those of the proof, and the model must not have changed.
    path : path
        Such as "model.proof.npz".
    overwrite : bool, default=False
    machine : int, optional
        Of a model of more than two classes: which of its ``machines_``, whose proof it is then. The rows are all those of the
        fit; the file has those of the machine.

    Raises
    ------
    CertificateError
        If model or rows are not those of the proof, the problem has functions of your own program in it, came in batches, or
        has more than two classes and no machine is named.
    ValueError
        If there is no such machine.
    FileExistsError
        If there is a file and ``overwrite`` is False.
    OSError
        If the file cannot be written; one that was there before is left as it was.
    """
    place = require_free(path, overwrite=overwrite, example="model.proof.npz")
    model = refitted(model)
    parts = proof_parts(model, X, y, sample_weight, groups)
    machines = parts.arguments.get("machines")
    if machines is None and machine is not None:
        raise ValueError(f"machine = {machine!r} is for models of more than two classes, and this one has two.")
    if machines is not None and machine is None:
        raise CertificateError(
            "a model of more than two classes has one proof for each of its machines, and a proof file holds one. verify "
            f"checks them all; to export the first of {len(machines)}, pass machine=0."
        )
    if machines is not None and not (isinstance(machine, numbers.Integral) and 0 <= machine < len(machines)):
        raise ValueError(f"machine = {machine!r} must be a whole number from 0 to {len(machines) - 1}.")
    if machines is None and "problem" not in parts.arguments:
        raise CertificateError("a fit from batches or on Dask has no proof in one piece. Fit a table in memory to export one.")
    with refusing_senseless("the proof of this model cannot be judged"):
        fresh = parts.judge()
    require_same(model, fresh)
    arguments, proven = parts.arguments, fresh
    if machines is not None and machine is not None:
        # What was judged above is the sum, which has digests of its own.
        arguments = machines[machine]
        with refusing_senseless("the proof of this machine cannot be judged"):
            proven = certificate_of(parts.kind)(**arguments)
    write_proof(place, Proof(parts.kind, arguments, proven.problem_digest, proven.model_digest), overwrite=overwrite)
