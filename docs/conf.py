"""Sphinx configuration. Everything is built from the repository and from installed packages; nothing is fetched."""

import os
import tomllib
from pathlib import Path

# Set before any page imports pyplot: a build machine has no screen.
os.environ.setdefault("MPLBACKEND", "Agg")

HERE = Path(__file__).resolve().parent

metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = metadata["name"]
author = "The surefoot developers"
project_copyright = author
release = version = metadata["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_gallery.gen_gallery"]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"surefoot {release}"
html_show_sourcelink = False
html_theme_options = {"navbar_end": ["theme-switcher"], "show_prev_next": False}
