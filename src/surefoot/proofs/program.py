"""The verifier as a program: ``python -m surefoot.verify PROOF``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.enclosure import computing_in
from surefoot.exceptions import CertificateError
from surefoot.proofs.judge import judge
from surefoot.proofs.proof_archive import MOST_BYTES
from surefoot.proofs.proof_file import read_proof_file

VERIFIED, NOT_VERIFIED = 0, 1
INTERRUPTED = 130  # as shells say of a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Judge a proof file: exit code 0 if it is verified, 1 if not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m surefoot.verify",
        description="Judge a proof file with NumPy and the trusted base alone.",
        epilog="Exit codes: 0 verified, 1 not verified or refused, 2 wrong usage.",
    )
    parser.add_argument("proof", help="a file that surefoot.export_proof has written, or another program in its format")
    parser.add_argument("--tolerance", type=float, metavar="GAP", help="the relative gap to prove; default: that of the file")
    parser.add_argument("--arithmetic", choices=["double", "ball"], default="double", help="ball needs python-flint")
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=MOST_BYTES,
        metavar="N",
        help="refuse files above this size unpacked; default: %(default)s",
    )
    args = parser.parse_args(argv)
    try:
        proof = read_proof_file(args.proof, max_bytes=args.max_bytes)
        if args.tolerance is not None:
            proof = replace(proof, arguments={**proof.arguments, "tolerance": args.tolerance})
        if args.arithmetic == "ball":
            from surefoot.core.flint_enclosure import FlintEnclosure  # type: ignore[import-not-found, unused-ignore]

            with computing_in(FlintEnclosure):
                found = judge(proof)
        else:
            found = judge(proof)
    except (CertificateError, OSError, ImportError) as error:
        sys.stderr.write(f"refused: {error}\n")
        return NOT_VERIFIED
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was verified.\n")
        return INTERRUPTED
    # The gap stands in the verdict, since whoever wrote the file chose it.
    said = f"{'verified' if found.verified else 'NOT verified'} to a relative gap of {found.tolerance!r}: {found.claim}\n"
    said += f"problem {found.problem_digest}\nmodel {found.model_digest or 'without fingerprint'}\n"
    return VERIFIED if _is_said(said) and found.verified else NOT_VERIFIED


def _is_said(text: str) -> bool:
    """Whether the text got out; a reader who has read enough and left counts as one."""
    if sys.stdout is None:  # closed before the program began
        return True
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not be flushed once more at the end
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"refused: the verdict could not be written ({error.strerror}).\n")
            return False
    return True
