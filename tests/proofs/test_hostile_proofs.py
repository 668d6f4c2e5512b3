"""Proof files that are made to harm, and outputs that cannot be written: refused in words, within little memory."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proven_models import proven_model

import surefoot as sf
from surefoot.proofs.judge import judge
from surefoot.proofs.program import main
from surefoot.proofs.proof_file import Proof, read_proof_file, write_proof

Members = dict[str, bytes]


@pytest.fixture
def robust(tmp_path: Path) -> Path:
    return exported("robust, mixed columns and weights", tmp_path)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    return exported("card", tmp_path)


def exported(kind: str, folder: Path) -> Path:
    proven = proven_model(kind)
    path = folder / "model.proof.npz"
    sf.export_proof(proven.model, proven.X, proven.y, path, **proven.more)
    return path


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array))
    return file.getvalue()


def rewritten(path: Path, change: Callable[[dict[str, Any], Members], None], compression: int = zipfile.ZIP_STORED) -> Path:
    """The file with its document or its arrays changed, and without digests."""
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    document = json.loads(str(np.load(io.BytesIO(members.pop("proof")))))
    document |= {"problem_digest": "", "model_digest": ""}
    change(document, members)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in {"proof": npy(json.dumps(document)), **members}.items():
            archive.writestr(f"{name}.npy", content)
    return path


def field(document: dict[str, Any], part: str, name: str) -> str:
    """The member that holds an array of a record."""
    return str(document["arguments"][part]["fields"][name]["array"])


def refused(path: Path, capsys: Any, *words: str) -> str:
    """What the program says about a file that it refuses, within 64 MB."""
    tracemalloc.start()
    code = main([str(path), *words])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said: str = capsys.readouterr().err
    assert code == 1 and said.startswith("refused: ") and peak < 1 << 26
    return said


def test_limits_of_points_take_no_memory(card: Path, capsys: Any) -> None:
    def change(document: dict[str, Any], members: Members) -> None:
        name = field(document, "problem", "lower")
        members[name] = npy(np.full_like(np.load(io.BytesIO(members[name])), -(2**31)))

    tracemalloc.start()
    assert main([str(rewritten(card, change))]) == 1
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()
    assert capsys.readouterr().out.startswith("NOT verified")


@pytest.mark.parametrize("count", [2 * 10**8, 2**31 - 1])
def test_levels_that_the_model_does_not_have_are_refused(count: int, robust: Path, capsys: Any) -> None:
    def change(document: dict[str, Any], members: Members) -> None:
        members[field(document, "problem", "n_levels")] = npy(np.array([count], dtype=np.int32))

    assert "coefficients.levels" in refused(rewritten(robust, change), capsys)


def test_headers_that_claim_more_than_there_is_are_refused(robust: Path, capsys: Any) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 33, 2)})
    path = rewritten(robust, lambda _, members: members.update(a0=header.getvalue() + b"x" * 100))
    assert "does not fit its bytes" in refused(path, capsys)


def test_members_that_unpack_to_more_than_the_limit_are_refused(robust: Path, capsys: Any) -> None:
    path = rewritten(robust, lambda _, members: members.update(a0=bytes(1 << 24)), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 16
    said = refused(path, capsys, "--max-bytes", str(1 << 20))
    assert "more than 1048576 bytes" in said and "--max-bytes" in said


def test_a_member_gets_no_more_memory_than_it_claims(robust: Path, capsys: Any) -> None:
    path = rewritten(robust, lambda _, members: members.update(a0=bytes(1 << 26)), zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    path.write_bytes(content.replace((1 << 26).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    assert "'a0.npy' is damaged" in refused(path, capsys)


def test_an_array_is_unpacked_once_however_often_it_is_named(robust: Path, capsys: Any) -> None:
    def change(document: dict[str, Any], members: Members) -> None:
        members["big"] = npy(np.zeros(1 << 20))
        document["arguments"]["problem"] = {"list": [{"array": "big"}] * 1000}

    assert refused(rewritten(robust, change), capsys)


def _nested(document: dict[str, Any]) -> None:
    value: Any = 1.0
    for _ in range(100):
        value = {"list": [value]}
    document["arguments"]["tolerance"] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(version=True), "version True"),
        (lambda document: document.update(problem_digest=3), "digests are no texts"),
        (lambda document: document.update(problem_digest="\ud800"), "no text"),
        (lambda document: document.update(more=1), "'more'"),
        (lambda document: document.update(arguments={"a b": 1}), "by the names of fields"),
        (lambda document: document["arguments"].update(max_claims=0), "has the parts"),
        (lambda document: document["arguments"].pop("plan"), "has the parts"),
        (lambda document: document["arguments"].update(tolerance=1.0), "below 1"),
        (lambda document: document["arguments"].update(tolerance=True), "below 1"),
        (lambda document: document["arguments"].update(tolerance=10**30), "whole number of 31 digits"),
        (lambda document: document["arguments"].update(tolerance={"number": {}}), "no value of a proof file"),
        (lambda document: document["arguments"].update(tolerance={"number": "7"}), "no value of a proof file"),
        (lambda document: document["arguments"].update(tolerance={"array": {}}), "no value of a proof file"),
        (lambda document: document["arguments"].update(tolerance={"record": "X"}), "no value of a proof file"),
        (lambda document: document["arguments"]["problem"].update(record="Banana"), "RobustLogisticProblem is meant"),
        (lambda document: document["arguments"]["problem"].update(record="__class__"), "no value of a proof file"),
        (lambda document: document["arguments"]["problem"]["fields"].update(__dict__=1), "by the names of fields"),
        (lambda document: document["arguments"]["problem"]["fields"].update(fit_intercept=2), "true or false"),
        (lambda document: document["arguments"]["problem"]["fields"].update(numeric={"sparse": [1], "fields": {}}), "sparse"),
        (_nested, "nested too deep"),
    ],
)
def test_documents_that_are_none_are_refused(change: Any, message: str, robust: Path, capsys: Any) -> None:
    said = refused(rewritten(robust, lambda document, _: change(document)), capsys)
    assert message in said and "unhashable" not in said and "mappingproxy" not in said


def test_what_is_there_twice_is_refused(robust: Path, capsys: Any) -> None:
    with zipfile.ZipFile(robust) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    text = str(np.load(io.BytesIO(content["proof.npy"])))
    with zipfile.ZipFile(robust, "w") as archive:
        for name, part in {**content, "proof.npy": npy(text.replace('"version": 1', '"version": 1, "version": 1'))}.items():
            archive.writestr(name, part)
    assert "the name 'version' is there twice" in refused(robust, capsys)
    with zipfile.ZipFile(robust, "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("proof.npy", content["proof.npy"])
    assert "'proof.npy' is there twice" in refused(robust, capsys)


def test_other_files_are_named_for_what_they_are(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "some.txt").write_text("some text", encoding="utf-8")
    said = refused(tmp_path / "some.txt", capsys)
    assert "no archive" in said and "pickle" not in said
    sf.save(proven_model("robust").model, tmp_path / "model.surefoot")
    said = refused(tmp_path / "model.surefoot", capsys)
    assert "it is a model file" in said and "surefoot verify" in said


def test_the_reader_chooses_the_gap(robust: Path, capsys: Any) -> None:
    def change(document: dict[str, Any], members: Members) -> None:
        document["arguments"]["tolerance"] = 0.999
        fields = document["arguments"]["coefficients"]["fields"]
        for name in ("numeric", "levels"):
            at = fields[name]["array"]
            members[at] = npy(0 * np.load(io.BytesIO(members[at])))
        fields["intercept"] = 0.0

    path = rewritten(robust, change)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.startswith("verified to a relative gap of 0.999: ")
    assert main([str(path), "--tolerance", "1e-6"]) == 1
    assert capsys.readouterr().out.startswith("NOT verified to a relative gap of 1e-06: ")
    assert "below 1" in refused(path, capsys, "--tolerance", "1")


def test_verdicts_that_nobody_reads_leave_no_traceback(robust: Path) -> None:
    program = f"{sys.executable} -m surefoot.verify {robust}"
    piped = subprocess.run(
        ["bash", "-c", f"{program} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False
    )
    assert piped.returncode == 0 and piped.stderr == ""
    full = subprocess.run(["bash", "-c", f"{program} > /dev/full"], capture_output=True, text=True, check=False)
    assert full.returncode == 1 and full.stderr.startswith("refused: the verdict could not be written")
    assert len(full.stderr.splitlines()) == 1


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = exported("robust", tmp_path)
    before = path.read_bytes()
    proven = proven_model("robust")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, unlimited[1]))
    try:
        with pytest.raises(OSError, match="nothing there was changed"):
            sf.export_proof(proven.model, proven.X, proven.y, path, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert path.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    proven = proven_model("robust")
    with pytest.raises(IsADirectoryError, match=r"model\.proof\.npz"):
        sf.export_proof(proven.model, proven.X, proven.y, tmp_path)
    with pytest.raises(IsADirectoryError, match=r"model\.surefoot"):
        sf.save(proven.model, tmp_path)


def test_answers_are_of_the_form_that_the_file_has(card: Path) -> None:
    proof = read_proof_file(card)
    own = proof.arguments["card"]
    with pytest.raises(sf.CertificateError, match=r"points holds 2\.5, which is not a whole number"):
        proof.answered(points=np.array([2.5, 0.0, 0.0]))
    with pytest.raises(sf.CertificateError, match=r"numbers of shape \(3,\) belong here"):
        proof.answered(points=2)
    with pytest.raises(sf.CertificateError, match="has the fields intercept, points, multiplier"):
        proof.answered(price=2.0)
    assert judge(proof.answered(points=own.points.astype(float))).verified


def test_a_written_answer_is_read_again(card: Path, tmp_path: Path) -> None:
    proof = read_proof_file(card)
    write_proof(tmp_path / "again.npz", proof)
    assert judge(read_proof_file(tmp_path / "again.npz")).verified


@pytest.mark.parametrize("kind", ["robust card", "circumcenter", "robust", "plane"])
def test_certificates_do_not_mind_how_numpy_treats_underflow(kind: str) -> None:
    with np.errstate(all="raise"):
        assert proven_model(kind).verify().verified


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(sf.CertificateError, match="no ordinary file"):
        read_proof_file(tmp_path / "pipe.npz")


def test_the_verdict_is_the_exit_code_where_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("robust")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")
    monkeypatch.setattr(sys, "stdout", None)
    assert main([str(tmp_path / "proof.npz")]) == 0


def test_ctrl_c_ends_the_program_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surefoot.proofs.program.read_proof_file", interrupted)
    assert main([str(tmp_path / "proof.npz")]) == 130
    assert capsys.readouterr().err == "interrupted: nothing was verified.\n"


@pytest.mark.parametrize("intercept", [-0.9999999999, 0.5, float("inf"), float("nan")])
def test_a_card_with_a_part_of_an_intercept_is_refused(intercept: float, tmp_path: Path) -> None:
    """Its fingerprint would be that of another card, which nobody has judged."""
    proven = proven_model("card")
    sf.export_proof(proven.model, proven.X, proven.y, tmp_path / "proof.npz")
    proof = read_proof_file(tmp_path / "proof.npz")
    card = proof.arguments["card"]
    forged = type(card)(**{**vars(card), "intercept": intercept}) if vars(card) else card
    with pytest.raises(sf.CertificateError, match="whole"):
        judge(replace(proof, arguments={**proof.arguments, "card": forged}))


def test_an_answer_keeps_no_numbers_of_the_one_before(tmp_path: Path) -> None:
    proof = read_proof_file(exported("robust, mixed columns and weights", tmp_path))
    own = proof.arguments["coefficients"]
    assert own.levels.size and own.numeric.size
    for given, missing in (("numeric", "levels"), ("levels", "numeric")):
        with pytest.raises(sf.CertificateError, match=f"an answer with {given} needs {missing} of its own too"):
            proof.answered(intercept=0.0, price=0.0, **{given: getattr(own, given)})
    assert judge(proof.answered(intercept=own.intercept, numeric=own.numeric, levels=own.levels, price=own.price)).verified


@pytest.mark.parametrize("multiplier", [0.0, -0.0, -1.0, np.nan, np.inf])
def test_a_card_without_a_scale_is_no_card_of_the_class(multiplier: float, tmp_path: Path) -> None:
    found = judge(read_proof_file(exported("card", tmp_path)).answered(multiplier=multiplier))
    assert not found.verified
    assert "multiplier is out of range" in found.claim


def test_nothing_is_proven_of_no_examples(tmp_path: Path) -> None:
    proof = read_proof_file(exported("cost", tmp_path))
    problem = replace(proof.arguments["problem"], examples=())
    with pytest.raises(sf.CertificateError, match="has no examples"):
        judge(Proof(proof.kind, {**proof.arguments, "problem": problem}))


def test_what_a_member_claims_takes_its_memory_once(tmp_path: Path, robust: Path) -> None:
    size = 1 << 27

    def change(_: dict[str, Any], members: Members) -> None:
        members["a0"] = npy(np.zeros(size >> 3))

    path = rewritten(robust, change, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < size >> 8
    tracemalloc.start()
    with pytest.raises(sf.CertificateError):
        judge(read_proof_file(path))
    assert tracemalloc.get_traced_memory()[1] < 1.1 * size
    tracemalloc.stop()
    with pytest.raises(sf.CertificateError, match="more than 1000000 bytes"):
        read_proof_file(path, max_bytes=10**6)


def test_a_long_text_is_refused_before_it_is_unpacked(tmp_path: Path, robust: Path) -> None:
    def change(_: dict[str, Any], members: Members) -> None:
        members["a0"] = npy(np.array("x" * (1 << 24)))

    path = rewritten(robust, change, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(sf.CertificateError, match=r"holds no numbers|longer"):
        read_proof_file(path, max_bytes=1 << 28)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
