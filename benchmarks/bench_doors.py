"""What the first steps of a user cost: importing the package, and fitting a long text file from the command line."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from measure import say
from tables import Cell, Report, Table

DESCRIPTION = "CPU seconds of imports beside sklearn.linear_model, and of a long CSV file beside pandas with scikit-learn"
IMPORTS = (
    ("sklearn.linear_model", "import sklearn.linear_model"),
    ("surefoot", "import surefoot"),
    ("a model of surefoot", "import surefoot; surefoot.RobustLogisticRegression"),
    ("surefoot --version", "import sys; sys.argv = ['surefoot']; import surefoot.cli.main"),
)
MEGABYTES, QUICK_MEGABYTES = 500, 2
_CHUNK = 100_000
_BYTES_PER_ROW = 76
_RIVAL = """
import sys
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
table = pd.read_csv(sys.argv[1])
y = table.pop("bought")
texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
columns = make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler())
make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(table, y)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--megabytes", type=int, help=f"size of the file (default: {MEGABYTES})")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each import, in turn")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    repeats = 1 if options.quick else options.repeats
    seconds: dict[str, list[float]] = {name: [] for name, _ in IMPORTS}
    for _ in range(repeats):  # in turn, so that a busy machine is busy for all of them
        for name, code in IMPORTS:
            seconds[name].append(_cpu([sys.executable, "-c", code])[0])
    usual = median(seconds[IMPORTS[0][0]])
    imports: list[dict[str, Cell]] = [
        {"import": name, "cpu_seconds": median(own), "ratio": median(own) / usual} for name, own in seconds.items()
    ]
    megabytes = options.megabytes or (QUICK_MEGABYTES if options.quick else MEGABYTES)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "table.csv", Path(folder) / "model"
        _write(table, megabytes, options.random_state)
        size = table.stat().st_size / 1e6
        say(f"{size:.0f} MB written")
        fit = ["fit", str(table), "--target", "bought", "--output", str(model), "--quiet"]
        runs = [
            ("pandas and LogisticRegression", [sys.executable, "-c", _RIVAL, str(table)]),
            ("surefoot fit", [sys.executable, "-m", "surefoot.cli", *fit]),
        ]
        measured = [(name, *_cpu(words)) for name, words in runs]
    files: list[dict[str, Cell]] = [
        {"program": name, "file_mb": size, "cpu_seconds": own, "ratio": own / measured[0][1], "exit": code}
        for name, own, code in measured
    ]
    return Report(
        name="doors",
        title="Importing, and a long text file",
        tables=[Table("doors_imports", "CPU seconds of imports", imports), Table("doors_file", "One text file", files)],
        findings=[
            f"import surefoot takes {imports[1]['ratio']:.2f} times the CPU of importing sklearn.linear_model, with a model "
            f"{imports[2]['ratio']:.2f} times.",
            f"surefoot fit takes {files[1]['ratio']:.2f} times the CPU of pandas with scikit-learn on {size:.0f} MB.",
        ],
        method=[
            f"CPU seconds of child processes, user and system; imports: the median of {repeats} runs, in turn. The file: eight "
            "columns of numbers, three of text, a target of two values; defaults, which include the automatic radius and the "
            "proof of surefoot, and max_iter=1000 of scikit-learn.",
        ],
        not_measured=["Wall time; reading a file that is not in the cache of the system; peak memory."],
    )


def _cpu(words: Sequence[str]) -> tuple[float, int]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code


def _write(path: Path, megabytes: int, random_state: int) -> None:
    rng = np.random.default_rng(random_state)
    rows = int(megabytes * 1e6 / _BYTES_PER_ROW)
    names = [*(f"x{k}" for k in range(6)), "age", "visits", "channel", "region", "tier", "bought"]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        for start in range(0, rows, _CHUNK):
            n = min(_CHUNK, rows - start)
            numbers = rng.normal(size=(6, n)) * np.array([1, 10, 100] * 2)[:, None]
            age, visits = rng.integers(18, 90, n), rng.poisson(3, n)
            channel, tier = rng.choice(["web", "phone", "shop"], n), rng.choice(["gold", "silver", "plain"], n)
            region = rng.integers(0, 20, n)
            bought = 0.5 * numbers[0] + (age - 50) / 20 + (channel == "web") + rng.logistic(size=n) > 0.5
            for k in range(n):
                shown = ",".join(f"{value:.4f}" for value in numbers[:, k])
                answer = "yes" if bought[k] else "no"
                file.write(f"{shown},{age[k]},{visits[k]},{channel[k]},region-{region[k]},{tier[k]},{answer}\n")
