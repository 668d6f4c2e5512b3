"""A formula as a PMML 4.4 scorecard, which scoring engines read.

Every term is a characteristic. The first attribute whose predicate holds gives its partial score, so the thresholds of a step
are listed from the highest down, each with the sum of all that it implies. Where the model refuses a row no attribute matches,
and the scorecard has no result either.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

from surefoot.design.encode.schema import Level
from surefoot.files.formula import Formula, LevelTerm, LinearTerm, Term, read_formula
from surefoot.sklearn_api.proven_model import ABOUT_LAST_STEP

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
# What XML 1.0 cannot hold, not even escaped.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_pmml(model: Any, *, name: str = "surefoot") -> str:
    """A linear model or a score card as a PMML 4.4 ``Scorecard``.

    Parameters
    ----------
    model : as for :func:`surefoot.export.to_json`
    name : str, default="surefoot"
        Name of the model.

    Returns
    -------
    str
        An XML document with the outputs ``total`` (intercept and terms), ``score`` (log odds) and, if the model has them,
        ``probability`` of the second class.

    Examples
    --------
    >>> import surefoot as sf
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit([[1.0], [2.0], [3.0], [4.0]], ["no", "yes", "no", "yes"])
    >>> sf.export.to_pmml(model).splitlines()[1]
    '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">'
    """
    formula = read_formula(model)
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
    about = f" {ABOUT_LAST_STEP}" if formula.behind_steps else ""
    header = _child(root, "Header", description=f"{formula.certificate.claim}{about}")
    _child(header, "Application", name="surefoot")
    dictionary = _child(root, "DataDictionary", numberOfFields=str(len(formula.terms)))
    card = _child(
        root,
        "Scorecard",
        modelName=name,
        functionName="regression",
        initialScore=repr(formula.intercept),
        useReasonCodes="false",
        isScorable="true",
    )
    schema = _child(card, "MiningSchema")
    _write_output(card, formula)
    characteristics = _child(card, "Characteristics")
    for term in formula.terms:
        _write_field(dictionary, term)
        fill = {"missingValueReplacement": repr(term.fill)} if isinstance(term, LinearTerm) and term.fill is not None else {}
        # Unknown levels reach the attributes, which say what they count as.
        _child(schema, "MiningField", name=term.feature, usageType="active", invalidValueTreatment="asIs", **fill)
        _write_characteristic(characteristics, term)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _write_output(card: ET.Element, formula: Formula) -> None:
    output = _child(card, "Output")
    _child(output, "OutputField", name="total", feature="predictedValue", dataType="double", optype="continuous")
    score = _computed(output, "score")
    quotient = _apply(score, "/")
    _child(quotient, "FieldRef", field="total")
    _constant(quotient, formula.divisor)
    if formula.slope is None or formula.offset is None:
        return
    probability = _computed(output, "probability")
    risk = _apply(probability, "/")
    _constant(risk, 1.0)
    below = _apply(risk, "+")
    _constant(below, 1.0)
    exponent = _apply(_apply(below, "exp"), "-")
    _constant(exponent, -formula.offset)
    product = _apply(exponent, "*")
    _constant(product, formula.slope)
    _child(product, "FieldRef", field="score")


def _write_field(dictionary: ET.Element, term: Term) -> None:
    if not isinstance(term, LevelTerm):
        _child(dictionary, "DataField", name=term.feature, optype="continuous", dataType="double")
        return
    levels = [level for level, _ in term.levels]
    kind = "string"
    if all(isinstance(level, bool) for level in levels):
        kind = "boolean"
    elif not any(isinstance(level, str) for level in levels):
        kind = "integer" if all(isinstance(level, int) for level in levels) else "double"
    field = _child(dictionary, "DataField", name=term.feature, optype="categorical", dataType=kind)
    for level in levels:
        _child(field, "Value", value=_text(level))


def _write_characteristic(parent: ET.Element, term: Term) -> None:
    own = _child(parent, "Characteristic", name=f"{term.feature} score")
    if isinstance(term, LinearTerm):
        attribute = _child(own, "Attribute")
        # A gap that nothing fills matches no attribute.
        _child(attribute, "SimplePredicate", field=term.feature, operator="isNotMissing")
        product = _apply(_child(attribute, "ComplexPartialScore"), "*")
        _constant(product, term.coefficient)
        _child(product, "FieldRef", field=term.feature)
        return
    if term.missing is not None:
        _predicate(own, term.missing, term.feature, "isMissing")
    if isinstance(term, LevelTerm):
        for level, worth in term.levels:
            _predicate(own, worth, term.feature, "equal", _text(level))
        if term.other is not None:
            _predicate(own, term.other, term.feature, "isNotMissing")
        return
    total, reached = 0.0, []
    for threshold, worth in term.steps:
        total += worth
        reached.append((total, threshold))
    for worth, threshold in reversed(reached):
        _predicate(own, worth, term.feature, "greaterOrEqual", repr(threshold))
    _predicate(own, 0.0, term.feature, "lessThan", repr(term.steps[0][0]))


def _predicate(parent: ET.Element, worth: float, field: str, operator: str, value: str | None = None) -> None:
    attribute = _child(parent, "Attribute", partialScore=repr(worth))
    compared = {} if value is None else {"value": value}
    _child(attribute, "SimplePredicate", field=field, operator=operator, **compared)


def _computed(output: ET.Element, name: str) -> ET.Element:
    return _child(output, "OutputField", name=name, feature="transformedValue", dataType="double", optype="continuous")


def _apply(parent: ET.Element, function: str) -> ET.Element:
    return _child(parent, "Apply", function=function)


def _constant(parent: ET.Element, value: float) -> None:
    _child(parent, "Constant", dataType="double").text = repr(float(value))


def _child(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    for text in attributes.values():
        if _UNWRITABLE.search(text):
            raise ValueError(f"{text!r:.80} has characters that XML does not have. Rename the column or the level.")
    return ET.SubElement(parent, tag, attributes)


def _text(level: Level) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
