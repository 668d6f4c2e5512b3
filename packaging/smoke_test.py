"""What a wheel must do where it has just been installed: import, say its version, and run the demo from end to end.

    python packaging/smoke_test.py [--no-compiler]

With ``--no-compiler`` it fails if a compiler is on the path: what is tried is then what somebody with nothing but Python gets.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl", "cmake", "ninja")


def main() -> None:
    """Try the installed package; raises what goes wrong."""
    found = [name for name in COMPILERS if shutil.which(name) is not None]
    if "--no-compiler" in sys.argv and found:
        sys.exit(f"{', '.join(found)} can be found on the path, so this is no test without a compiler.")
    program = Path(sys.executable).with_name("surefoot")
    with tempfile.TemporaryDirectory() as folder:
        # From a folder without sources, so that it is the wheel that is imported.
        said = subprocess.run([program, "--version"], cwd=folder, check=True, capture_output=True, text=True).stdout
        if said.strip() != f"surefoot {version('surefoot')}":
            sys.exit(f"'surefoot --version' says {said!r}")
        subprocess.run([program, "demo"], cwd=folder, check=True)
        made = sorted(path.name for path in (Path(folder) / "surefoot-demo").iterdir())
        if made != ["model.surefoot", "report.html", "scores.csv", "test.csv", "train.csv"]:
            sys.exit(f"the demo has made {made}")
    print(f"surefoot {version('surefoot')} on Python {sys.version.split()[0]}: the demo ran from end to end")


if __name__ == "__main__":
    main()
