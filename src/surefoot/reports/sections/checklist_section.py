"""What guidelines ask of a model, item by item: filled in where a fitted model and a table say it, open where people must.

The items are those of TRIPOD+AI (Collins et al., BMJ 2024, 385:e078378), in the order and with the numbers of that statement,
each named in our words; and the sections of a model card (Mitchell et al., FAT* 2019). Nothing here judges: an item that is
filled in is reported, not good.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.reports.page import paragraph, table

OPEN = "to be said by you"
TRIPOD_ITEMS = {
    "1": "Title",
    "2": "Abstract",
    "3a": "Healthcare context and rationale",
    "3b": "Target population, intended purpose and users",
    "3c": "Known health inequalities",
    "4": "Objectives",
    "5a": "Sources of data",
    "5b": "Dates of data",
    "6a": "Setting",
    "6b": "Eligibility",
    "6c": "Treatments",
    "7": "Data preparation",
    "8a": "Outcome",
    "8b": "Who assessed the outcome",
    "8c": "Blinding of the outcome",
    "9a": "Choice of predictors",
    "9b": "Definition of predictors",
    "9c": "Who assessed predictors",
    "10": "Sample size",
    "11": "Missing data",
    "12a": "Use of the data",
    "12b": "Handling of predictors",
    "12c": "Type of model and how it was built",
    "12d": "Heterogeneity between clusters",
    "12e": "Measures of performance",
    "12f": "Updating after evaluation",
    "12g": "How predictions are calculated",
    "13": "Class imbalance",
    "14": "Fairness",
    "15": "Model output",
    "16": "Differences between training and evaluation",
    "17": "Ethical approval",
    "18a": "Funding",
    "18b": "Conflicts of interest",
    "18c": "Protocol",
    "18d": "Registration",
    "18e": "Data sharing",
    "18f": "Code sharing",
    "19": "Patient and public involvement",
    "20a": "Flow of participants",
    "20b": "Characteristics of participants",
    "20c": "Comparison of training and evaluation data",
    "21": "Numbers of participants and outcomes",
    "22": "The full model",
    "23a": "Performance, with intervals and by group",
    "23b": "Heterogeneity of performance",
    "24": "Results of updating",
    "25": "Interpretation",
    "26": "Limitations",
    "27a": "Poor or missing inputs in use",
    "27b": "What users need to know and do",
    "27c": "Next steps",
}
CARD_ITEMS = (
    "model details",
    "intended use",
    "factors",
    "metrics",
    "evaluation data",
    "training data",
    "quantitative analyses",
    "ethical considerations",
    "caveats and recommendations",
)


def read_about(given: Any) -> dict[str, str]:
    """What the user says, by item.

    Raises
    ------
    ValueError
        If a key is neither a number of TRIPOD+AI nor a section of a model card.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"about = {given!r:.80} must be a mapping from items, such as '5a' or 'intended use', to texts.")
    told = {str(key).strip().lower(): str(text) for key, text in given.items()}
    unknown = [key for key in told if key not in TRIPOD_ITEMS and key not in CARD_ITEMS]
    if unknown:
        raise ValueError(
            f"about has no item {unknown[0]!r}: items are the numbers of TRIPOD+AI, {', '.join(TRIPOD_ITEMS)}, and the "
            f"sections of a model card, {', '.join(CARD_ITEMS)}."
        )
    return told


def checklist_blocks(known: Mapping[str, str], about: Mapping[str, str]) -> tuple[str, ...]:
    """The section: what the user says comes first, then what the model and the rows say."""
    said = {key: " ".join(filter(None, (about.get(key, ""), known.get(key, "")))) for key in (*CARD_ITEMS, *TRIPOD_ITEMS)}
    card = [[key.capitalize(), said[key] or OPEN] for key in CARD_ITEMS]
    filled = [[f"{number} {name}", said[number]] for number, name in TRIPOD_ITEMS.items() if said[number]]
    still_open = [f"{number} {name}" for number, name in TRIPOD_ITEMS.items() if not said[number]]
    blocks = [
        paragraph("What the model and the rows say by themselves is filled in; about={'5a': ...} adds the words of people."),
        table(("section", "what is known"), card, left=2, long=(1,), caption="Model card"),
        table(("item", "what is known"), filled, left=2, long=(1,), caption="TRIPOD+AI, for models of health"),
    ]
    if still_open:
        total = len(TRIPOD_ITEMS)
        blocks.append(paragraph(f"For people to say, {len(still_open)} of {total} items: {'; '.join(still_open)}.", "small"))
    return tuple(blocks)
