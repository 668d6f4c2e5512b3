"""The safe writer: a file is there as a whole or not at all, and what was there before survives every failure."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.core import new_file as module
from surefoot.core.new_file import new_file, require_free, write_new


def test_text_and_bytes_come_back_as_they_were_written(tmp_path: Path) -> None:
    write_new(tmp_path / "a.txt", "größer\n", overwrite=False)
    assert (tmp_path / "a.txt").read_bytes() == "größer\n".encode()
    with new_file(tmp_path / "b.bin", overwrite=False, text=False) as file:
        file.write(b"\x00\r\n\xff")
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\r\n\xff"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.bin"]


def test_nothing_is_at_the_place_before_the_block_ends(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    with new_file(place, overwrite=False) as file:
        file.write("half")
        file.flush()
        assert not place.exists()
    assert place.read_text() == "half"


def write_and(place: Path, then: Callable[[], object], *, overwrite: bool = False) -> None:
    with new_file(place, overwrite=overwrite) as file:
        file.write("mine")
        then()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_what_was_there_and_no_draft(
    tmp_path: Path, overwrite: bool, kind: type[BaseException]
) -> None:
    def fail() -> None:
        raise kind

    place = tmp_path / "a.txt"
    if overwrite:
        place.write_text("old")
    with pytest.raises(kind):
        write_and(place, fail, overwrite=overwrite)
    assert os.listdir(tmp_path) == (["a.txt"] if overwrite else [])
    assert not overwrite or place.read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    place = tmp_path / "a.txt"
    place.write_text("old")
    monkeypatch.setattr(module.os, step, full)
    with pytest.raises(OSError, match=r"a\.txt could not be written \(No space left on device\)") as caught:
        write_new(place, "new", overwrite=True)
    assert caught.value.errno == errno.ENOSPC
    assert place.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_an_error_about_another_file_is_passed_on_as_it_is(tmp_path: Path) -> None:
    missing = tmp_path / "no input.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write_and(tmp_path / "a.txt", missing.read_text)
    assert caught.value.filename == str(missing)
    assert "could not be written" not in str(caught.value)

    def read() -> None:
        raise OSError("broken table")

    with pytest.raises(OSError, match=r"^broken table$"):
        write_and(tmp_path / "a.txt", read)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(module.os, "link", no_links)
    place = tmp_path / "a.txt"
    with pytest.raises(FileExistsError, match="exists already"):
        write_and(place, lambda: place.write_text("theirs"))
    assert place.read_text() == "theirs" and os.listdir(tmp_path) == ["a.txt"]


def test_file_systems_without_hard_links_are_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(module.os, "link", no_links)
    write_new(tmp_path / "a.txt", "mine", overwrite=False)
    assert (tmp_path / "a.txt").read_text() == "mine" and os.listdir(tmp_path) == ["a.txt"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old")
    place.chmod(0o600)
    write_new(place, "new", overwrite=True)
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "b.txt", tmp_path / "a.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_new(link, "new", overwrite=True)
    assert link.is_symlink() and target.read_text() == "new"
    assert os.listdir(target.parent) == ["b.txt"]


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    loop = tmp_path / "loop.txt"
    loop.symlink_to(loop)
    write_new(require_free(loop, overwrite=True), "new", overwrite=True)
    assert not loop.is_symlink() and loop.read_text() == "new"


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    for private, expected in ((True, 0), (False, 0o044 & ~_umask())):
        place = tmp_path / f"{private}.txt"
        with module.new_file(place, overwrite=True, private=private) as file:
            file.write("mine")
        assert place.stat().st_mode & 0o044 == expected


@pytest.mark.parametrize("name", ["x" * 255, "\N{SNOWMAN}" * 85, "\N{GRINNING FACE}" * 63])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    write_new(tmp_path / name, "mine", overwrite=False)
    assert os.listdir(tmp_path) == [name]


def test_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (lambda: require_free(pipe, overwrite=True), lambda: write_new(pipe, "mine", overwrite=True)):
        with pytest.raises(OSError, match="no ordinary file"):
            write()
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_places_are_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a.txt"
    assert require_free(str(place), overwrite=False) == place
    with pytest.raises(IsADirectoryError, match="name the file to write"):
        require_free(tmp_path, overwrite=True)
    with pytest.raises(FileNotFoundError, match="make it first"):
        require_free(tmp_path / "no" / "a.txt", overwrite=True)
    place.write_text("old")
    assert require_free(place, overwrite=True) == place
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        require_free(place, overwrite=False)
    monkeypatch.setattr(module.os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="choose another one"):
        require_free(tmp_path / "b.txt", overwrite=False)
