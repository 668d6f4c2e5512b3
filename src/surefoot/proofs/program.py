"""The verifier as a program: ``python -m surefoot.verify PROOF``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from surefoot.core.enclosure import computing_in
from surefoot.exceptions import CertificateError
from surefoot.proofs.judge import judge
from surefoot.proofs.proof_file import read_proof_file

VERIFIED, NOT_VERIFIED = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """Judge a proof file: exit code 0 if it is verified, 1 if not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m surefoot.verify",
        description="Judge a proof file with NumPy and the trusted base alone.",
        epilog="Exit codes: 0 verified, 1 not verified or refused, 2 wrong usage.",
    )
    parser.add_argument("proof", help="a file that surefoot.export_proof has written, or another program in its format")
    parser.add_argument("--arithmetic", choices=["double", "ball"], default="double", help="ball needs python-flint")
    args = parser.parse_args(argv)
    try:
        proof = read_proof_file(args.proof)
        if args.arithmetic == "ball":
            from surefoot.core.flint_enclosure import FlintEnclosure  # type: ignore[import-not-found, unused-ignore]

            with computing_in(FlintEnclosure):
                found = judge(proof)
        else:
            found = judge(proof)
    except (CertificateError, OSError, ImportError) as error:
        sys.stderr.write(f"refused: {error}\n")
        return NOT_VERIFIED
    try:
        sys.stdout.write(f"{'verified' if found.verified else 'NOT verified'}: {found.claim}\n")
        sys.stdout.write(f"problem {found.problem_digest}\nmodel {found.model_digest or 'without fingerprint'}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has enough of it; the interpreter must not try to flush it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return VERIFIED if found.verified else NOT_VERIFIED
