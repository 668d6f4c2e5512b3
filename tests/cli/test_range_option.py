"""``surefoot fit --range``: what it means, and what is said about ranges that are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main
from surefoot.cli.settings.range_option import numeric_range


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, None),
        ([], None),
        (["observed"], "observed"),
        (["observed +- 10 %"], "observed +- 10 %"),
        (["age=18:100"], {"age": (18.0, 100.0)}),
        (["age=-1.5:1e3", "income=observed"], {"age": (-1.5, 1000.0), "income": "observed"}),
        (["a=b=0:1"], {"a=b": (0.0, 1.0)}),
    ],
)
def test_options_are_ranges_of_columns_or_of_all(given, wanted):
    assert numeric_range(given) == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["age=18:old"], "'age=18:old' is not understood; two numbers belong there, as in age=18:100"),
        (["age=18_0:1000"], "'age=18_0:1000' is not understood"),
        (["age=1:2", "age=1:3"], "names column 'age' twice"),
        (["observed", "age=1:2"], "'observed' is for all columns"),
        (["age 18-90"], r"given as in --range age=18:90, or say observed"),
        (["blood age = (18, 90)"], r"given as in --range 'blood age=18:90', or"),
        (["age=18-90"], r"--range = 'age=18-90' is not understood.*--range age=18:90, or"),
        (["age=seen"], r"given as in --range age=18:100, or"),
    ],
)
def test_other_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        numeric_range(given)


@pytest.fixture
def table(tmp_path):
    draw = np.random.default_rng(0)
    age, site = draw.integers(18, 80, 120), draw.choice(["a", "b"], 120)
    ill = np.where(age + draw.normal(0, 15, 120) > 50, "yes", "no")
    pd.DataFrame({"age": age, "site": site, "ill": ill}).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def fit(table, *more):
    return main(["fit", str(table), "--target", "ill", "--output", str(table.parent / "model.sf"), "--quiet", *more])


@pytest.mark.parametrize("memory", ["2048", "0.001"])
def test_fit_keeps_numbers_within_their_range(table, memory):
    assert fit(table, "--range", "age=18:100", "--memory", memory, "--missing", "error") == 0
    model = sf.load(table.parent / "model.sf")
    assert model.ground_cost_.numeric_ranges.tolist() == [[18.0, 100.0]]
    assert model.certificate_.verified
    if memory == "2048":
        assert main(["verify", str(table.parent / "model.sf"), str(table), "--target", "ill"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--range", "age=18:50"], "--range of column 'age' is from 18 to 50, but line 55 holds 79"),
        (["--range", "site=observed"], "--range names column 'site', which is categorical"),
        (["--range", "height=0:1"], "--range names column 'height', but the columns are"),
        (["--range", "age=observed", "--model", "risk-score"], "--range is for --model robust"),
        (["--range", "all"], "--range = 'all' is not understood"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command(table, more, said, capsys):
    assert fit(table, *more) == 1
    assert said in capsys.readouterr().err
