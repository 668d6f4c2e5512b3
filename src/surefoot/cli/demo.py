"""``surefoot demo``: all commands once, on a small table that comes along."""

from __future__ import annotations

import argparse
import csv
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from surefoot.cli.console import say
from surefoot.cli.exit_codes import DONE
from surefoot.cli.options import command

_EXAMPLES = """\
  surefoot demo
  surefoot demo --folder elsewhere --force"""
_MEASURED = ("mean texture", "mean smoothness", "worst compactness", "worst concave points")
_GRADED = ("worst area", "mean concavity", "worst symmetry")
_GRADES = ("low", "middle", "high")


def add_demo(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(
        subparsers,
        "demo",
        _EXAMPLES,
        run_demo,
    )
    parser.add_argument("--folder", default="surefoot-demo", help="where files go; default surefoot-demo")
    parser.add_argument("--force", action="store_true", help="replace files that are there")


def run_demo(args: argparse.Namespace) -> int:
    """Run the commands; see the parser."""
    from surefoot.cli.main import main  # the demo is a command of the program that it runs

    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train.csv", "test.csv"):
        if (folder / name).exists() and not args.force:
            raise FileExistsError(f"{folder / name} exists already; name another --folder, or say --force to replace it.")
    _write_tables(folder)
    model, test = str(folder / "model.surefoot"), str(folder / "test.csv")
    force = ["--force"] if args.force else []
    for words in (
        ["fit", str(folder / "train.csv"), "--target", "diagnosis", "--output", model, "--radius", "0.1", "--quiet", *force],
        ["explain", model],
        ["verify", model, str(folder / "train.csv"), "--target", "diagnosis"],
        ["score", model, test, "--output", str(folder / "scores.csv"), *force],
        ["stress", model, test, "--target", "diagnosis", "--sets", "500", "--quiet"],
        ["report", model, test, "--target", "diagnosis", "--output", str(folder / "report.html"), "--quiet", *force],
    ):
        say(f"\n$ surefoot {shlex.join(words)}")
        code = main(words)
        if code != DONE:
            return code
    return DONE


def _write_tables(folder: Path) -> None:
    """Breast cancer measurements, some of them as the grades that a doctor would read off."""
    data = load_breast_cancer()
    column = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    columns = [column[name].tolist() for name in _MEASURED]
    for name in _GRADED:
        grades = np.digitize(column[name], np.quantile(column[name], [1 / 3, 2 / 3]))
        columns.append([_GRADES[grade] for grade in grades.tolist()])
    columns.append(data.target_names[data.target].tolist())
    rows = list(zip(*columns, strict=True))
    for name, part in (("train.csv", rows[::2]), ("test.csv", rows[1::2])):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*_MEASURED, *_GRADED, "diagnosis"])
            writer.writerows(part)
