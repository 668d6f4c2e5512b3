"""Sphinx configuration. Everything is built from the repository and from installed packages; nothing is fetched."""

import os
import sys
import tomllib
from pathlib import Path

# Set before any page imports pyplot: a build machine has no screen.
os.environ.setdefault("MPLBACKEND", "Agg")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = metadata["name"]
author = "The surefoot developers"
project_copyright = author
release = version = metadata["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_gallery.gen_gallery", "mathml", "published"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext"]
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
    "write_computation_times": False,  # a page that would load scripts, and differ from build to build
}

html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["surefoot.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"surefoot {release}"
html_show_sourcelink = False
# Pages without pages below them have nothing to navigate in.
html_sidebars = {
    name: [] for name in ("index", "install", "compared", "benchmarks", "changelog", "citing", "glossary", "proofs")
}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],  # a sign with a name; the one with text has another name than its text
    "show_prev_next": False,
}
