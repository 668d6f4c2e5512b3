"""``surefoot fit --levels``: what it means, and what is said about levels that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.cli.main import main
from surefoot.cli.settings.levels_option import category_levels


def test_options_are_levels_by_column() -> None:
    assert category_levels(None) is None
    assert category_levels([]) is None
    given = ["colour=red, green,blue", 'size="small, or less",large']
    assert category_levels(given) == {"colour": ["red", "green", "blue"], "size": ["small, or less", "large"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["red,green"], "'red,green' is not understood; say a column and its levels"),
        (["colour="], "'colour=' is not understood"),
        (["a=x", "a=y"], "names column 'a' twice"),
    ],
)
def test_other_options_are_refused(given: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        category_levels(given)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    lines = [
        f"{draw.normal():.3f},{site},{floor},{'yn'[int(draw.random() < 0.3 + 0.4 * (site == 'a'))]}"
        for site, floor in zip(draw.choice(["a", "b"], 120), draw.choice([1, 2], 120), strict=True)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["x,site,floor,ill", *lines]) + "\n")
    return tmp_path / "table.csv"


def fit(table: Path, *more: str) -> int:
    return main(["fit", str(table), "--target", "ill", "--output", str(table.parent / "model.sf"), "--quiet", *more])


@pytest.mark.parametrize("memory", ["2048", "0.001"])
def test_levels_that_no_row_holds_are_fitted_and_scored(table: Path, memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["--levels", "site=a,b,c", "--levels", "floor=0,1,2", "--categorical", "floor", "--missing", "error"]
    assert fit(table, *told, "--memory", memory) == 0
    model = sf.load(table.parent / "model.sf")
    assert [column.levels for column in model.schema_.columns][1:] == [("a", "b", "c"), ("0", "1", "2")]
    assert model.certificate_.verified
    new = table.parent / "new.csv"
    new.write_text("x,site,floor\n0.5,c,0\n0.5,a,1\n")
    assert main(["score", str(table.parent / "model.sf"), str(new)]) == 0
    if memory == "2048":
        assert main(["verify", str(table.parent / "model.sf"), str(table), "--target", "ill"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--levels", "site=a,c"], "holds 'b', which is none of the levels given in --levels: 'a', 'c'"),
        (["--levels", "x=a"], "--levels names column 'x', which is numeric"),
        (["--levels", "site=a,b", "--model", "risk-score"], "--levels is for --model robust"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command(
    table: Path, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(table, *more) == 1
    assert said in capsys.readouterr().err
