"""Files that are broken, too new, or made to harm: they are refused in words, and nothing in them runs."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import surefoot as sf
from surefoot.files.archive import DOCUMENT, SEAL, read_archive, write_archive

SAVED = ("robust", "card of a table", "rbf svc", "path", "circumcenter", "online cost")
CARELESS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="session")
def saved(fitted: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The path of a whole file of some kinds of models."""
    folder = tmp_path_factory.mktemp("saved")
    for kind in SAVED:
        sf.save(fitted[kind].model, folder / kind)
    return {kind: folder / kind for kind in SAVED}


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, content: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in content.items():
            archive.writestr(zipfile.ZipInfo(name), text, compression)
    return path


def sealed(content: dict[str, bytes], document: dict[str, Any]) -> dict[str, bytes]:
    """The same members with another document, and the digest that it has to have."""
    text = json.dumps(document).encode()
    return {**content, DOCUMENT: text, SEAL: hashlib.sha256(text).hexdigest().encode()}


def with_array(path: Path, target: Path, array: bytes) -> Path:
    """A file whose first array is these bytes, with the digests that it has to have."""
    content = members(path)
    document = json.loads(content[DOCUMENT])
    document["arrays"]["a0"] = hashlib.sha256(array).hexdigest()
    return pack(target, {**sealed(content, document), "a0.npy": array})


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def refused(path: Path, message: str) -> None:
    with pytest.raises(sf.ModelFileError, match=message):
        sf.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (b"hello", "cut short"),
        (b"PK\x05\x06" + b"\0" * 18, "no member 'model.json'"),
        (b"\x80\x04N.", "cut"),
    ],
)
def test_what_is_no_model_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    refused(tmp_path / "file", message)


def test_a_file_from_a_later_version_says_to_upgrade(saved: Any, tmp_path: Path) -> None:
    content = members(saved["robust"])
    document = json.loads(content[DOCUMENT]) | {"version": 2, "surefoot": "9.0"}
    refused(pack(tmp_path / "new", sealed(content, document)), "version 2 .* written by surefoot '9.0'.*Upgrade")


def test_damage_is_told_by_the_digests(saved: Any, tmp_path: Path) -> None:
    content = members(saved["robust"])
    other = content[DOCUMENT].replace(b"0.105", b"0.106")
    assert other != content[DOCUMENT]
    refused(pack(tmp_path / "one", {**content, DOCUMENT: other}), "does not have the digest")
    array = bytearray(content["a0.npy"])
    array[-1] ^= 1
    refused(pack(tmp_path / "two", {**content, "a0.npy": bytes(array)}), "array 'a0' does not have the digest")


def test_compressed_members_are_refused_before_they_are_unpacked(saved: Any, tmp_path: Path) -> None:
    bomb = pack(tmp_path / "bomb", {**members(saved["robust"]), "a0.npy": bytes(1 << 26)}, zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1 << 20
    tracemalloc.start()
    refused(bomb, "compressed or encrypted")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 22


def test_members_that_share_their_bytes_are_refused(saved: Any, tmp_path: Path) -> None:
    content = pack(tmp_path / "file", {**members(saved["robust"]), "a0.npy": bytes(1 << 16)}).read_bytes()
    at = content.rindex(b"PK\x05\x06")
    start, count = struct.unpack("<I", content[at + 16 : at + 20])[0], struct.unpack("<H", content[at + 10 : at + 12])[0]
    entry = content.index(b"a0.npy", start) - 46
    one = content[entry : entry + 46 + 6]
    copies = b"".join(one.replace(b"a0.npy", b"b%04d." % k) for k in range(99))  # all of them at the place of a0.npy
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count + 99, count + 99, at - start + len(copies), start, 0)
    (tmp_path / "file").write_bytes(content[:at] + copies + end)
    refused(tmp_path / "file", "they overlap")


def test_an_archive_with_a_huge_table_of_contents_is_refused_unread(tmp_path: Path) -> None:
    directory = 60_000 * 46
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 60_000, 60_000, directory, 0, 0)
    (tmp_path / "file").write_bytes(bytes(directory) + end)
    refused(tmp_path / "file", "lists 60000 members")


def test_a_file_above_the_limit_is_refused_by_its_size(saved: Any) -> None:
    with pytest.raises(sf.ModelFileError, match="raise max_bytes"):
        sf.load(saved["robust"], max_bytes=100)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"), "does not fit its bytes"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 100000000000000000), }"), "does not fit"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"), "broken header"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }", bytes(8)), "does not fit"),
        (npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", bytes(16)), "type complex128"),
        (npy("{'descr': '|V8', 'fortran_order': False, 'shape': (1,), }", bytes(8)), "which no array of a file has"),
        (npy("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8)), "broken header"),
        (npy("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }", bytes(8)), "which no array of a file has"),
        (npy("{'descr': '<f7', 'fortran_order': False, 'shape': (1,), }", bytes(7)), "broken header"),
        (npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\x02"), "values that its type bool"),
        (npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"\xff" * 4), "values that its type"),
        (npy("__import__('os').system('true')"), "broken header"),
        (npy("(" * 100), "broken header"),
        (npy("{'descr': '<f8'}"), "broken header"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(8), b"\x03\x00"), "broken header"),
        (b"", "broken header"),
    ],
)
def test_arrays_that_are_none_are_refused_before_memory_is_asked_for(
    array: bytes, message: str, saved: Any, tmp_path: Path
) -> None:
    refused(with_array(saved["robust"], tmp_path / "file", array), message)


class Payload:
    """What a pickle would run."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return Path.touch, (self.place,)


def test_pickled_objects_are_never_unpickled(saved: Any, tmp_path: Path) -> None:
    payload = pickle.dumps(np.array([Payload(tmp_path / "it ran")], dtype=object))
    header = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", payload)
    refused(with_array(saved["robust"], tmp_path / "file", header), "broken header")
    assert not (tmp_path / "it ran").exists()


def test_names_that_lead_elsewhere_are_refused(saved: Any, tmp_path: Path) -> None:
    content = members(saved["robust"])
    for name in ("../outside.npy", "/etc/passwd", "folder/"):
        refused(pack(tmp_path / "file", {**content, name: b""}), "are not those that its document lists")
    document = json.loads(content[DOCUMENT])
    document["arrays"]["../outside"] = hashlib.sha256(b"").hexdigest()
    refused(pack(tmp_path / "file", {**sealed(content, document), "../outside.npy": b""}), "broken header")
    assert not (tmp_path.parent / "outside.npy").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 1_000_000, "not the JSON"),
        (b'{"a": 1' + b"0" * 10_000 + b"}", "not the JSON"),
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'"text"', "not the JSON of a model"),
        (b"\xff\xfe", "not the JSON"),
    ],
)
def test_documents_that_are_none_are_refused(text: bytes, message: str, saved: Any, tmp_path: Path) -> None:
    content = {DOCUMENT: text, SEAL: hashlib.sha256(text).hexdigest().encode()}
    refused(pack(tmp_path / "file", content), message)


def edited(path: Path, target: Path, edit: Any) -> Path:
    """The file with its document changed in place, sealed anew."""
    content = members(path)
    document = json.loads(content[DOCUMENT])
    edit(document["content"]["model"])
    return pack(target, sealed(content, document))


def deep(levels: int) -> Any:
    value: Any = {"list": []}
    for _ in range(levels):
        value = {"list": [value]}
    return value


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda model: model.__setitem__(0, "Popen"), "which this version of surefoot does not know"),
        (lambda model: model.__setitem__(0, "__class__"), "does not know"),
        (lambda model: model[1].update(radius={"record": ["Popen", {}]}), "'Popen', which is no part of a model"),
        (lambda model: model[1].update(radius={"system": "true"}), "'system' is no kind of value"),
        (lambda model: model[1].update(radius={"model": ["ThresholdBinarizer", {}, {}]}), "lacks parameters"),
        (lambda model: model[1].update(radius=deep(150)), "nested deeper"),
        (lambda model: model[1].update(radius={"array": "a999"}), "there is no array 'a999'"),
        (lambda model: model[1].pop("radius"), "lacks parameters"),
        (lambda model: model[1].update(callback=1), "parameters are not those"),
        (lambda model: model[2].update(_library="os"), "_library of the RobustLogisticRegression is 'os'"),
        (lambda model: model[2].update(predict="no"), "does not have exactly these parts: predict"),
        (lambda model: model[2].pop("coef_"), "does not have exactly these parts: coef_"),
        (lambda model: model[2].update(coef_=model[2]["intercept_"]), "coef_ does not fit schema_"),
        (lambda model: model[2].update(coef_=1.0), "coef_ of the RobustLogisticRegression is 1.0"),
        (lambda model: model[2].update(classes_={"objects": [[2], ["a", "a"]]}), "not two classes"),
        (lambda model: model[2].update(classes_={"objects": [[3], ["a", "b"]]}), "do not have the shape"),
        (lambda model: model[2]["schema_"]["record"][1].update(columns="abc"), "columns of a Schema is 'abc'"),
        (lambda model: model[2]["schema_"]["record"][1].update(missing_numeric="run"), "missing_numeric of a Schema is 'run'"),
        (lambda model: model[2]["outcome_"]["record"][1].update(status={"status": "hacked"}), "no way in which a solve ends"),
        (lambda model: model[2]["certificate_"]["record"][1].update(verified="yes"), "verified of a Certificate is 'yes'"),
        (lambda model: model[2].update(feature_names_in_={"objects": [[3], ["a", "b", "c"]]}), "names .* contradict"),
    ],
)
def test_documents_that_describe_no_model_are_refused(edit: Any, message: str, saved: Any, tmp_path: Path) -> None:
    refused(edited(saved["robust"], tmp_path / "file", edit), message)


def test_a_score_card_with_a_checkpoint_elsewhere_is_refused(saved: Any, tmp_path: Path) -> None:
    def edit(model: Any) -> None:
        card = next(step["model"] for step in model[1].values() if step["model"][0] == "RiskScoreClassifier")
        card[1]["checkpoint"] = "/home/somebody/.profile"

    refused(edited(saved["card of a table"], tmp_path / "file", edit), "it names a file, checkpoint")


@pytest.mark.parametrize(
    ("kind", "edit", "message"),
    [
        ("circumcenter", lambda forward: forward.__setitem__(0, "CallableProblem"), "no forward problem that a file holds"),
        ("circumcenter", lambda forward: forward.__setitem__(0, "Popen"), "no forward problem that a file holds"),
        ("circumcenter", lambda forward: forward[1].update(upper="all"), "upper of a LinearProgram is 'all'"),
        ("circumcenter", lambda forward: forward[1].update(lower={"float": "nan"}), "lower of a LinearProgram is nan"),
        ("circumcenter", lambda forward: forward[1].pop("lower"), "does not have the parameters"),
        ("circumcenter", lambda forward: forward.__setitem__(slice(None), ["Assignment", {"n": 10**9}]), "n of a Assignment"),
        ("circumcenter", lambda forward: forward.__setitem__(slice(None), ["Assignment", {"n": 2}]), "cost_ does not fit"),
        ("online cost", lambda forward: forward[1]["edges"]["list"].pop(), "cost_ does not fit forward"),
        ("online cost", lambda forward: forward[1].update(edges={"list": ["ab"]}), "edges of a ShortestPath"),
    ],
)
def test_a_forward_problem_that_is_none_is_refused(kind: str, edit: Any, message: str, saved: Any, tmp_path: Path) -> None:
    refused(edited(saved[kind], tmp_path / "file", lambda model: edit(model[1]["forward"]["forward"])), message)


def test_a_cost_without_a_forward_problem_is_refused(saved: Any, tmp_path: Path) -> None:
    refused(edited(saved["online cost"], tmp_path / "file", lambda model: model[1].update(forward="x")), "no forward problem")


def test_a_kernel_that_is_called_is_refused(saved: Any, tmp_path: Path) -> None:
    def edit(model: Any) -> None:
        kernel = model[2]["_scores"]["record"][1]["kernel"]["record"][1]
        kernel.update(name="callable", function=copy.deepcopy(model[2]["_scores"]))

    refused(edited(saved["rbf svc"], tmp_path / "file", edit), "function of a Kernel")


def use(path: Path, rows: Any) -> None:
    """Load a file; if it is a model, it also predicts, or says what is wrong with the rows."""
    with contextlib.suppress(sf.ModelFileError):
        model = sf.load(path)
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):
            assert not hasattr(model, "predict") or len(model.predict(rows)) == len(rows)


@CARELESS
@given(data=st.data())
def test_flipped_and_missing_bytes_are_always_noticed(data: st.DataObject, saved: Any, tmp_path: Path) -> None:
    whole = saved[data.draw(st.sampled_from(sorted(saved)))].read_bytes()
    if data.draw(st.booleans()):
        broken = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        content = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
        broken = bytes(content)
    (tmp_path / "broken").write_bytes(broken)
    try:
        sf.load(tmp_path / "broken")
    except sf.ModelFileError:
        return
    # Only bytes that mean nothing, such as dates of members, may change: the members are the same.
    one, other = io.BytesIO(whole), io.BytesIO(broken)
    with zipfile.ZipFile(one) as left, zipfile.ZipFile(other) as right:
        assert {name: left.read(name) for name in left.namelist()} == {name: right.read(name) for name in right.namelist()}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["list", "tuple", "dict", "array", "record", "float", "objects", "scalar", "x"]), inner, max_size=2
        )
    ),
    max_leaves=6,
)


def places(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


@CARELESS
@given(data=st.data())
def test_an_edited_document_is_refused_or_is_a_model_that_predicts(
    data: st.DataObject, saved: Any, fitted: Any, tmp_path: Path
) -> None:
    kind = data.draw(st.sampled_from(sorted(saved)))
    document, arrays = read_archive(saved[kind], 1 << 30)
    place = data.draw(st.sampled_from(places(document["content"])[1:]))
    parent = document["content"]
    for key in place[:-1]:
        parent = parent[key]
    way = data.draw(st.sampled_from(["replace", "remove", "swap"]))
    if way == "remove":
        del parent[place[-1]]
    elif way == "swap":  # the value of another place: right in kind, wrong where it stands
        other = document["content"]
        for key in data.draw(st.sampled_from(places(document["content"])[1:])):
            other = other[key]
        parent[place[-1]] = copy.deepcopy(other)
    else:
        parent[place[-1]] = data.draw(VALUES)
    with (tmp_path / "edited").open("wb") as file:
        write_archive(file, document, arrays)
    use(tmp_path / "edited", fitted[kind].rows)
