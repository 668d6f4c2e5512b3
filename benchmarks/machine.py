"""What ran, and on what: the facts without which a timing says nothing."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

PACKAGES = ("surefoot", "numpy", "scipy", "scikit-learn", "narwhals", "clarabel", "cvxpy", "pandas")
ABSENT = "not installed"


def facts() -> dict[str, str]:
    """Versions and machine as text, in the order in which they are reported."""
    versions = {package: _version(package) for package in PACKAGES}
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(),
        "python": platform.python_version(),
        **versions,
        "cpu": _cpu(),
        "cores": str(available_cores()),
        "memory_gb": f"{_memory_bytes() / 2**30:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
    }


def available_cores() -> int:
    """Cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far.

    Linux carries ``ru_maxrss`` over from the process that started this one, so a small child of a large parent would report the
    parent's peak; ``VmHWM`` starts again with the new program. Elsewhere ``ru_maxrss`` is all there is.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0].split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ABSENT


def _commit() -> str:
    """Commit of the repository, marked if files differ from it: a number from an unsaved state cannot be repeated."""
    root = Path(__file__).resolve().parents[1]
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        # Results are written by the benchmarks themselves: only other changes make the state differ from the commit.
        changed = _git(root, "status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit} with changes" if changed else commit


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        names = [line.split(":", 1)[1].strip() for line in listing.read_text().splitlines() if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
