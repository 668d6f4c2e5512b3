"""The program itself: its version, its help, what shells complete, and what it imports for that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import surefoot as sf
from surefoot.cli.commands import COMMANDS
from surefoot.cli.completion import SHELLS
from surefoot.cli.main import main, program_parser

Run = Callable[..., tuple[int, str, str]]


def test_it_says_its_version_and_imports_little_for_it() -> None:
    code = "import sys\nfrom surefoot.cli.main import main\ntry: main(['--version'])\nfinally: print('sklearn' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"surefoot {sf.__version__}\nFalse\n"


def test_its_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"    {name}" in said for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_options_and_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    said = capsys.readouterr().out
    assert f"usage: surefoot {name}" in said and f"  surefoot {name}" in said.split("examples:")[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_every_command_and_its_options(shell: str, run: Run) -> None:
    code, script, _ = run("completion", shell)
    assert code == 0
    for word in (*COMMANDS, "max-features", "positive", "fail-on-shift", "risk-score"):
        assert word in script, word


@pytest.mark.skipif(sys.platform == "win32", reason="bash is asked")
def test_bash_offers_what_fits(run: Run) -> None:
    script = run("completion", "bash")[1]

    def offered(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in ("surefoot", *words))
        asked = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _surefoot; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout.split()

    assert offered("fi") == ["fit"]
    assert offered("fit", "t.csv", "--max-") == ["--max-features", "--max-points"]
    assert offered("fit", "t.csv", "--model", "r") == ["robust", "risk-score"]


def test_an_option_cut_short_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        program_parser("fit").parse_args(["fit", "t.csv", "--target", "y", "-o", "m", "--max-feat", "3"])
    assert "--max-feat" in capsys.readouterr().err
