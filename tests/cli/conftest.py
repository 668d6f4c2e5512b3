"""A command run as a person would type it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from surefoot.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command, given as words; returns exit code, standard output and standard error."""

    def command(*words: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command
