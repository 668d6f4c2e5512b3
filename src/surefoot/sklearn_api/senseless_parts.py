"""Errors about a model whose parts make no sense, as refusals with a sentence: models come from files of strangers too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from surefoot.exceptions import CertificateError, SurefootError

_SENSELESS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@contextlib.contextmanager
def refusing_senseless(what: str) -> Iterator[None]:
    """Turn whatever the block raises about its parts into ``CertificateError``; ``what`` says what could not be done."""
    try:
        with np.errstate(all="ignore"):
            yield
    except MemoryError as error:
        raise CertificateError(f"{what}: it takes more memory than there is.") from error
    except _SENSELESS as error:
        if isinstance(error, SurefootError):
            raise
        words = f"{error!s:.300}" if type(error) is ValueError else f"a part is not what it has to be ({type(error).__name__})"
        raise CertificateError(f"{what}: {words}") from error
