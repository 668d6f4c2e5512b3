"""Model files as somebody forges them who knows how they are made."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import surefoot as sf


def forged(model: Any, path: Path, change: Callable[[list[Any]], None]) -> Path:
    """A file of the model with its document changed, and the digest that it has to have."""
    sf.save(model, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    change(document["content"]["model"])
    text = json.dumps(document).encode()
    members |= {"model.json": text, "model.sha256": hashlib.sha256(text).hexdigest().encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path
