"""Formulas as MathML, which every browser draws by itself: no script, no font, nothing to load, and screen readers read it.

MathJax would be two megabytes of script to ship with pages that have a hundred short formulas; pictures would need TeX, and
could neither be searched nor enlarged.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number

# Sizes that are said by hand: browsers stretch brackets by themselves, and one side alone would be left behind.
_SIZED = re.compile(r"\\[bB]igg?[lr]?(?=[()\[\]|]|\\[{}|])")
_PRIME = '<mo lspace="0" rspace="0">&#x2032;</mo>'
_PRIMED = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>")
_PRIMED_BELOW = re.compile(r"<msubsup>(<mi>[^<]*</mi>)(<m[in]>[^<]*</m[in]>)<mi>&#x02032;</mi></msubsup>")
# Of display style, conditions stand below these words and not beside them.
_BELOW = re.compile(r"<msub><mo>(max|min|sup|inf)</mo>((?:(?!<msub>).)*?)</msub>(?=<)", re.DOTALL)


def markup(formula: str, *, display: bool) -> str:
    """The formula as a ``math`` element, with its source as what it is called where MathML is not known."""
    drawn = convert(_SIZED.sub("", formula.strip()), display="block" if display else "inline")
    # A prime stands high and is small by itself; as a superscript it would be a dot above the line.
    drawn = _PRIMED_BELOW.sub(rf"<msub><mrow>\1{_PRIME}</mrow>\2</msub>", drawn)
    drawn = _PRIMED.sub(rf"<mrow>\1{_PRIME}</mrow>", drawn)
    if display:
        drawn = _BELOW.sub(r"<munder><mo>\1</mo>\2</munder>", drawn)
    if "\\" in drawn:
        raise ValueError(f"a part of this formula has no form in MathML: {formula!r}")
    return drawn


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="math notranslate">{markup(node.astext(), display=False)}</span>')
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    self.body.append('<div class="math notranslate" tabindex="0" role="group" aria-label="Formula">')
    if number := get_node_equation_number(self, node) if node["number"] else "":
        self.body.append(f'<span class="eqno">({number})</span>')
    self.body.append(f"{markup(node.astext(), display=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
