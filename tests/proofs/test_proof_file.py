"""Proof files, and the program that judges them alone."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import trusted
from proven_models import CHANGES, KINDS, proven_model
from sklearn.svm import SVC

import surefoot as sf
from surefoot.proofs.compressed_rows import CompressedRows
from surefoot.proofs.judge import CERTIFICATES, judge
from surefoot.proofs.program import main
from surefoot.proofs.proof_file import ANSWERS, Proof, read_proof_file, write_proof

ALONE = """
import runpy, sys

class Numpy:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy", "sklearn", "joblib", "threadpoolctl", "narwhals", "pandas"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Numpy())
sys.argv = ["surefoot.verify", *sys.argv[1:]]
try:
    runpy.run_module("surefoot.verify", run_name="__main__")
finally:
    print("imported", *sorted(name for name in sys.modules if name.startswith("surefoot.")))
"""


def family_of(kind: str) -> str:
    """The family whose certificate judges a model of this kind."""
    return "riskscore" if "card" in kind else "robust" if "robust" in kind else "chancesvm" if "plane" in kind else "inverse"


@pytest.fixture(params=KINDS)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    proven = proven_model(request.param)
    path = tmp_path / "model.proof.npz"
    sf.export_proof(proven.model, proven.X, proven.y, path, **proven.more)
    return request.param, path


def test_the_program_verifies_with_numpy_and_the_trusted_base_alone(exported: tuple[str, Path]) -> None:
    kind, path = exported
    program = subprocess.run([sys.executable, "-c", ALONE, str(path)], capture_output=True, text=True, check=False, timeout=120)
    proof = proven_model(kind).model.certificate_
    assert program.returncode == (0 if proof.verified else 1), program.stderr
    verdict, problem, model, imported = program.stdout.splitlines()
    assert (
        verdict == f"{'verified' if proof.verified else 'NOT verified'} to a relative gap of {proof.tolerance!r}: {proof.claim}"
    )
    assert (problem, model) == (f"problem {proof.problem_digest}", f"model {proof.model_digest}")
    packages = {"surefoot.proofs", "surefoot.core", f"surefoot.{family_of(kind)}"}
    allowed = {*trusted.trusted_modules(), *packages, "surefoot.core.enclosure"}
    strange = {name for name in imported.split()[1:] if name not in allowed and not name.startswith("surefoot.proofs.")}
    assert strange == set()


def test_a_file_holds_what_the_certificate_judges(exported: tuple[str, Path]) -> None:
    kind, path = exported
    proof = read_proof_file(path)
    proven = proven_model(kind)
    assert proof.kind in CERTIFICATES and proof.problem_digest == proven.model.certificate_.problem_digest
    assert {"problem", "tolerance"} <= set(proof.arguments)
    assert type(proof.arguments["problem"]).__name__.endswith("Problem")
    with zipfile.ZipFile(path) as archive:
        assert "proof.npy" in archive.namelist()


def test_the_program_refuses_a_changed_answer(exported: tuple[str, Path], tmp_path: Path, capsys: Any) -> None:
    _, path = exported
    proof = read_proof_file(path)
    name = next(name for name in ANSWERS if name in proof.arguments)
    answer = proof.arguments[name]
    field = "theta" if isinstance(answer, np.ndarray) or hasattr(answer, "theta") else "intercept"
    own = {"shape": answer.shape} if hasattr(answer, "theta") else {}
    changed = proof.answered(**{field: 1.0 + (answer if isinstance(answer, np.ndarray) else getattr(answer, field))}, **own)
    write_proof(tmp_path / "changed.npz", replace(changed, model_digest=proof.model_digest))
    assert main([str(tmp_path / "changed.npz")]) == 1
    assert "refused" in capsys.readouterr().err


def test_an_answer_of_another_program_gets_both_bounds_where_there_is_a_witness(tmp_path: Path) -> None:
    proven = proven_model("robust")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")
    proof = read_proof_file(tmp_path / "proof.npz")
    zero = proof.answered(intercept=0.0, numeric=np.zeros(3), price=0.0)
    with_witness, without = judge(zero), judge(zero.without_witness())
    assert with_witness.upper_bound == pytest.approx(np.log(2)) and not with_witness.verified
    assert 0.5 * proven.model.certificate_.lower_bound < with_witness.lower_bound <= proven.model.certificate_.upper_bound
    assert without.upper_bound == with_witness.upper_bound and without.lower_bound <= 0.0


def test_a_card_of_another_program_is_judged(tmp_path: Path) -> None:
    proven = proven_model("card")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")
    proof = read_proof_file(tmp_path / "proof.npz")
    own = proof.arguments["card"]
    other = judge(proof.answered(points=-own.points, intercept=own.intercept))
    assert not other.verified and other.upper_bound > proven.model.certificate_.upper_bound
    assert other.lower_bound == proven.model.certificate_.lower_bound
    with_rules_broken = judge(proof.answered(points=own.points + 100))
    assert not with_rules_broken.verified and with_rules_broken.upper_bound == np.inf


def test_a_card_under_a_shift_is_judged_with_the_price_of_its_worst_loss(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((60, 3)) < 0.5).astype(float)
    y = (rng.random(60) < 1 / (1 + np.exp(1 - 3 * X[:, 0]))).astype(int)
    model = sf.RiskScoreClassifier(radius=0.05, max_features=2, max_points=2).fit(X, y)
    sf.export_proof(model, X, y, tmp_path / "proof.npz")
    proof = read_proof_file(tmp_path / "proof.npz")
    assert model.certificate_.verified and judge(proof).verified
    own, price = proof.arguments["card"], proof.arguments["price"]
    assert judge(proof.answered(points=own.points, price=price)).verified
    other = judge(proof.answered(price=price + 1.0))
    assert other.upper_bound > model.certificate_.upper_bound and not other.verified
    arguments = {name: value for name, value in proof.arguments.items() if name != "price"}
    earlier = judge(Proof(proof.kind, arguments))
    assert earlier.lower_bound == model.certificate_.lower_bound and earlier.upper_bound >= model.certificate_.upper_bound


def test_a_plane_of_scikit_learn_is_judged(tmp_path: Path) -> None:
    proven = proven_model("plane")
    rows = np.arange(len(proven.X))
    with pytest.warns(sf.SingleSampleWarning):
        model = sf.ChanceConstrainedSVC(kernel="linear", tol=1e-4, standardize=False).fit(proven.X, proven.y, groups=rows)
    sf.export_proof(model, proven.X, proven.y, tmp_path / "proof.npz", groups=rows)
    proof = read_proof_file(tmp_path / "proof.npz")
    # Every row an input of its own, known exactly: the plain support vector machine.
    other = SVC(kernel="linear", tol=1e-10).fit(proven.X, proven.y)
    coefficients = np.zeros(len(rows))
    coefficients[other.support_] = other.dual_coef_[0]
    centre = getattr(proof.arguments["problem"].kernel, "centre", None)
    intercept = other.intercept_[0] + (0.0 if centre is None else float(other.coef_[0] @ np.asarray(centre)))
    found = judge(proof.answered(coefficients=coefficients, intercept=intercept))
    assert found.verified and found.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=1e-4)
    assert not judge(proof.answered(coefficients=0.5 * coefficients, intercept=intercept)).verified


def _document(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a proof file with its document changed."""
    with np.load(path) as archive:
        members = dict(archive)
    document = json.loads(str(members["proof"][()]))
    change(document)
    np.savez(path, **{**members, "proof": np.array(json.dumps(document))})


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(format="another"),
        lambda document: document.update(version=2),
        lambda document: document.update(kind="os.system"),
        lambda document: document.update(arguments=3),
        lambda document: document.pop("arguments"),
        lambda document: document["arguments"].pop("problem"),
        lambda document: document["arguments"].update(problem=None),
        lambda document: document["arguments"].update(problem={"record": "class", "fields": {}}),
        lambda document: document["arguments"].update(problem={"array": "missing"}),
        lambda document: document["arguments"].update(tolerance={"number": "minus infinity"}),
        lambda document: document["arguments"].update(more=1.0),
        lambda document: document.update(problem_digest="0" * 64),
    ],
)
def test_a_broken_file_is_refused(change: Callable[[dict[str, Any]], None], tmp_path: Path, capsys: Any) -> None:
    proven = proven_model("robust")
    path = tmp_path / "proof.npz"
    sf.export_proof(proven.model, proven.X, proven.y, path)
    _document(path, change)
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith("refused: ")


def test_what_is_no_proof_file_is_refused(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "text").write_text("no archive", encoding="utf-8")
    np.savez(tmp_path / "objects.npz", proof=np.array([{}], dtype=object))
    for name in ("text", "objects.npz", "missing"):
        assert main([str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.startswith("refused: ")
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


def test_only_the_model_and_the_rows_of_the_proof_are_exported(tmp_path: Path) -> None:
    proven = proven_model("robust")
    with pytest.raises(sf.CertificateError, match="not the rows"):
        sf.export_proof(proven.model, proven.X + 1, proven.y, tmp_path / "proof.npz")
    model = copy.deepcopy(proven.model)
    CHANGES["robust"]["coef_"](model)
    with pytest.raises(sf.CertificateError, match="has changed"):
        sf.export_proof(model, proven.X, proven.y, tmp_path / "proof.npz")
    batches = [(proven.X[:60], proven.y[:60]), (proven.X[60:], proven.y[60:])]
    with pytest.raises(sf.CertificateError, match="batches"):
        sf.export_proof(sf.RobustLogisticRegression(radius=0.05).fit(batches), batches, None, tmp_path / "proof.npz")
    assert not (tmp_path / "proof.npz").exists()
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")
    with pytest.raises(FileExistsError):
        sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")


def test_functions_of_the_caller_are_no_data(tmp_path: Path) -> None:
    proven = proven_model("plane")
    model = sf.ChanceConstrainedSVC(kernel=lambda left, right: left @ right.T, batches="rows").fit(proven.X, proven.y)
    with pytest.raises(sf.CertificateError, match="no code"):
        sf.export_proof(model, proven.X, proven.y, tmp_path / "proof.npz")


def test_sparse_columns_are_read_without_scipy(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(60, 5, 0.3, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel() + rng.normal(size=60) > 0.5
    model = sf.RobustLogisticRegression(radius=0.02).fit(X, y)
    sf.export_proof(model, X, y, tmp_path / "proof.npz")
    read = read_proof_file(tmp_path / "proof.npz").arguments["problem"].numeric
    assert isinstance(read, CompressedRows) and np.array_equal(read.toarray(), X.toarray())
    found = judge(read_proof_file(tmp_path / "proof.npz"))
    assert found.verified and found.problem_digest == model.certificate_.problem_digest


def test_compressed_rows_multiply_like_the_matrix_they_are() -> None:
    rng = np.random.default_rng(1)
    full = np.where(rng.random((7, 4)) < 0.5, rng.normal(size=(7, 4)), 0.0)
    csr = scipy.sparse.csr_array(full)
    rows = CompressedRows((csr.data, csr.indices, csr.indptr), shape=(7, 4))
    vector, block = rng.normal(size=4), rng.normal(size=(4, 3))
    left, tall = rng.normal(size=7), rng.normal(size=(2, 7))
    for found, expected in (
        (rows @ vector, full @ vector),
        (rows @ block, full @ block),
        (left @ rows, left @ full),
        (tall @ rows, tall @ full),
        (rows.T @ left, full.T @ left),
        (abs(rows.T) @ left, np.abs(full).T @ left),
        (abs(rows) @ vector, np.abs(full) @ vector),
        (rows[2:5].toarray(), full[2:5]),
        (rows[[6, 0]].toarray(), full[[6, 0]]),
        (rows[full[:, 0] > 0] @ vector, full[full[:, 0] > 0] @ vector),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    for wrong in ((csr.data[:-1], csr.indices, csr.indptr), (csr.data, csr.indices + 4, csr.indptr)):
        with pytest.raises(ValueError, match="shape it claims"):
            CompressedRows(wrong, shape=(7, 4))


def test_files_that_are_no_proofs_are_refused_without_dangerous_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    sf.save(proven_model("robust").model, tmp_path / "model")
    for name, said in (("table.csv", "no archive"), ("model", "it is a model file")):
        assert main([str(tmp_path / name)]) == 1
        told = capsys.readouterr().err
        assert said in told and "pickle" not in told


def test_half_points_are_told_as_such(tmp_path: Path) -> None:
    proven = proven_model("card")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "card")
    with pytest.raises(sf.CertificateError, match=r"2\.5, which is not a whole number"):
        read_proof_file(tmp_path / "card").answered(points=np.array([2.5, 0, 1]))


def test_a_reader_who_has_enough_ends_the_program_quietly(tmp_path: Path) -> None:
    proven = proven_model("robust")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof")
    words = [sys.executable, "-m", "surefoot.verify", str(tmp_path / "proof")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        said = child.stderr.read().decode()
    assert child.returncode == 0 and "Traceback" not in said and "BrokenPipe" not in said
