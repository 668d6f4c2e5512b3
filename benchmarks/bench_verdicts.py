"""The verdicts themselves on trial: thousands of random problems and tampered answers against references that share no code."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from machine import available_cores
from measure import say
from tables import Cell, Report, Table
from verdict_children import Job, kept_records, run_jobs
from verdict_record import (
    BALLS_PROVE,
    BALLS_REFUSE,
    CONTRADICTED,
    CRASH,
    FALSE_CLAIM,
    FALSE_ERROR,
    FALSE_VERDICT,
    KINDS,
    NO_REFERENCE,
    OVERRUN,
    REFUSED,
    STRATA,
    UNVERIFIED,
    Record,
)

DESCRIPTION = "random problems of every family against exact references, and tampered answers: is a verdict ever false"
FAMILIES = ("robust", "cards", "svm", "inverse")
TRIAL, TAMPERING, BALLS = "trial", "tampering", "balls"
QUICK = 8
KEPT = "verdicts.jsonl"
SAID_EVERY = 500
LONGEST_DETAIL = 400
CONTRADICTIONS = (BALLS_REFUSE, CONTRADICTED)
# Of right models, in percent: what is asked for.
MOST_REFUSED = {"ordinary": 0.01, "extreme": 1.0}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES), dest="families")
    parser.add_argument("--problems", type=int, help=f"random problems per family (default: 10000; quick: {QUICK})")
    parser.add_argument("--tampered", type=int, help=f"tampered answers per family (default: 5000; quick: {QUICK})")
    parser.add_argument(
        "--balls", type=int, help=f"comparisons with ball arithmetic per family (default: 1000; quick: {QUICK})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first problem; even ones are ordinary, odd ones extreme")
    parser.add_argument("--jobs", type=int, default=min(2, available_cores()), help="processes at a time")
    parser.add_argument("--resume", action="store_true", help=f"go on with what {KEPT} in the output directory holds")


def run(options: argparse.Namespace) -> Report:
    """Run the trials, and count."""
    counts = {
        TRIAL: _asked(options.problems, options.quick, 10_000),
        TAMPERING: _asked(options.tampered, options.quick, 5_000),
        BALLS: _asked(options.balls, options.quick, 1_000),
    }
    options.output.mkdir(parents=True, exist_ok=True)
    keep = options.output / KEPT
    if not options.resume:
        keep.unlink(missing_ok=True)
    records: list[Record] = []
    for family in options.families:
        for function, count in counts.items():
            jobs = [Job(family, function, options.seed + at) for at in range(count)]
            known = kept_records(keep) if options.resume else {}
            records += [known[key] for job in jobs if (key := (job.family, job.function, job.seed)) in known]
            left = [job for job in jobs if (job.family, job.function, job.seed) not in known]
            records += run_jobs(left, options.jobs, keep, _Teller(f"{family}, {function}", len(left)))
    return report(records, options.families)


def report(records: Sequence[Record], families: Iterable[str]) -> Report:
    """Tables and findings of all records."""
    trials = [record for record in records if not record.tampered and not record.balls]
    tampered = [record for record in records if record.tampered]
    compared = [record for record in records if record.balls]
    tables = []
    if trials:
        counted = [_counted(family, stratum, trials) for family in families for stratum in STRATA]
        tables.append(Table("verdicts", "Random problems, by family and setting", [row for row in counted if row["problems"]]))
        tables.append(Table("verdicts_settings", "By what is odd about them", _by_setting(trials, families)))
    if tampered:
        rows = [_tampered(family, kind, tampered) for family in families for kind in _kinds(family, tampered)]
        tables.append(Table("verdicts_tampered", "Tampered answers, by what was changed", rows))
    if compared:
        rows = [_balls(family, stratum, compared) for family in families for stratum in STRATA]
        shown = [row for row in rows if row["problems"]]
        tables.append(Table("verdicts_balls", "The same certificates in ball arithmetic, by family and setting", shown))
    failures = [_failure(record, kind, detail) for record in records for kind, detail in record.found.items()]
    if failures:
        tables.append(Table("verdicts_failures", "Every finding with the command that repeats it", failures, on_page=False))
    return Report(
        name="verdicts",
        title="Verdicts against references that share no code",
        tables=tables,
        findings=_findings(trials, tampered, compared),
        method=METHOD,
        not_measured=NOT_MEASURED,
    )


METHOD = (
    "Problems are drawn by seed; even seeds are ordinary, odd ones extreme (offsets, scales of 1e+-9, prices of 1e+-6, ties, "
    "duplicates, separable or tiny tables, weights of 0, tiny and huge radii, C and weights: one to three of them at a time). "
    "They are small, so that everything can be enumerated. Families cover their norms, kernels, distances, priors, approaches "
    "and rules; levels that no row holds, and a hundred of them; distances of features and of functions; searches for cards "
    "that were stopped, with the bound of their relaxation; and cards from elsewhere, judged against the best of their form.",
    "Exact objectives: decimal arithmetic with 60 digits, from the public numbers of the fitted model. References: all vectors "
    "of categories, labels and ends of ranges (robust), all cards (cards), the conic model of all ellipsoids (svm), all "
    "decisions (inverse); "
    "real-valued unknowns by Clarabel in tight settings on centred and scaled columns, and then evaluated exactly, so that an "
    "inexact reference can miss a false verdict by its own error (about 1e-9), but cannot accuse a true one.",
    "false verdict: verified although a model is better by more than the tolerance, a lower bound above a reachable objective, "
    "or an upper bound below the model's own. false claim: a number of the sentence that is not true as printed. false error: "
    "an error that says there is no answer where there is one. refused: not verified, and within the tolerance of the "
    "reference. unverified: any other fit without a proof, rightly so. overrun: more than 1 s of CPU beyond time_limit. no "
    "reference: an unverified fit that no reference can judge. Fits under a time limit, and those of published methods and "
    "heuristics that prove what they can, are not counted as refused.",
    "Tampered answers are judged by the certificate functions, or after saving, changing and loading the file; one that is "
    "still truly optimal to the tolerance, by the reference, may be verified. 'nothing' is the control: it must be verified.",
    "Balls: fits of the same draws, verified in doubles and in balls of 128 bits. That balls refuse what doubles verified, or "
    "that bounds or fingerprints of the two contradict each other, would be an error of the certificates. That balls prove "
    "what doubles leave open is none: doubles have fewer digits, and what they cannot tell is not verified in them.",
)
NOT_MEASURED = (
    "Large problems: nothing here has more than some dozens of rows. Rows in batches or partitions, and Dask.",
    "Whether the words of a claim name the right class of models: only its numbers are read.",
    "Cards: robust ones at a free scale. Inverse: quadratic programmes and ellipsoids of decisions with more than one unknown.",
)


class _Teller:
    def __init__(self, what: str, count: int) -> None:
        self.what, self.count, self.done = what, count, 0
        self.kinds: Counter[str] = Counter()

    def __call__(self, record: Record) -> None:
        self.done += 1
        self.kinds.update(list(record.found))
        if self.count <= 3:
            for kind, detail in record.found.items():
                say(f"{record.family} {record.seed} {record.stratum} {record.settings} {record.tampered} {kind}: {detail}")
        if self.done % SAID_EVERY == 0 or self.done == self.count:
            say(f"{self.what}: {self.done} of {self.count}, {dict(self.kinds)}")


def _asked(given: int | None, quick: bool, full: int) -> int:
    return (QUICK if quick else full) if given is None else given


def _counted(family: str, stratum: str, trials: Sequence[Record]) -> dict[str, Cell]:
    chosen = [record for record in trials if (record.family, record.stratum) == (family, stratum)]
    return {"family": family, "setting": stratum, **_counts(chosen)}


def _counts(chosen: Sequence[Record]) -> dict[str, Cell]:
    answered = [record for record in chosen if record.answered]
    verified = sum(record.verified for record in answered)
    refused = sum(REFUSED in record.found for record in answered)
    counts: dict[str, Cell] = {"problems": len(chosen), "models": len(answered), "verified": verified}
    counts |= {kind: sum(kind in record.found for record in chosen) for kind in KINDS}
    right = verified + refused
    return {**counts, "refused of right models, %": 100.0 * refused / right if right else None}


def _by_setting(trials: Sequence[Record], families: Iterable[str]) -> list[dict[str, Cell]]:
    rows = []
    for family in families:
        own = [record for record in trials if record.family == family]
        for setting in sorted({setting for record in own for setting in record.settings}):
            chosen = [record for record in own if setting in record.settings]
            rows.append({"family": family, "with": setting, **_counts(chosen)})
    return rows or [{"family": "-", "with": "nothing odd", **_counts([])}]


def _kinds(family: str, tampered: Sequence[Record]) -> list[str]:
    return sorted({record.tampered for record in tampered if record.family == family})


def _tampered(family: str, kind: str, tampered: Sequence[Record]) -> dict[str, Cell]:
    chosen = [record for record in tampered if (record.family, record.tampered) == (family, kind)]
    return {
        "family": family,
        "changed": kind,
        "answers": len(chosen),
        "refused": sum(not record.verified for record in chosen),
        "still right, verified": sum(record.verified and not record.found for record in chosen),
        "false verdicts": sum(FALSE_VERDICT in record.found for record in chosen),
        "false claims": sum(FALSE_CLAIM in record.found for record in chosen),
        "crashes": sum(CRASH in record.found for record in chosen),
    }


def _balls(family: str, stratum: str, compared: Sequence[Record]) -> dict[str, Cell]:
    chosen = [record for record in compared if (record.family, record.stratum) == (family, stratum)]
    counts: dict[str, Cell] = {
        "family": family,
        "setting": stratum,
        "problems": len(chosen),
        "compared": sum(record.answered for record in chosen),
        "verified in doubles": sum(record.verified for record in chosen),
    }
    return counts | {kind: sum(kind in record.found for record in chosen) for kind in (*CONTRADICTIONS, BALLS_PROVE, CRASH)}


def _failure(record: Record, kind: str, detail: str) -> dict[str, Cell]:
    function = BALLS if record.balls else TAMPERING if record.tampered else TRIAL
    return {
        "family": record.family,
        "setting": record.stratum,
        "seed": record.seed,
        "kind": kind,
        "tampered": record.tampered,
        "odd": ", ".join(record.settings),
        "detail": " ".join(detail.split())[:LONGEST_DETAIL],
        "command": command(record.family, function, record.seed),
    }


def command(family: str, function: str, seed: int) -> str:
    """The line that repeats one trial."""
    options = {TRIAL: "problems", TAMPERING: "tampered", BALLS: "balls"}
    only = " ".join(f"--{option} {int(name == function)}" for name, option in options.items())
    return f"python benchmarks/run.py verdicts --quick --family {family} {only} --seed {seed}"


def _findings(trials: Sequence[Record], tampered: Sequence[Record], compared: Sequence[Record]) -> list[str]:
    def of(kind: str, records: Sequence[Record]) -> int:
        return sum(kind in record.found for record in records)

    found = []
    if trials:
        found.append(
            f"{len(trials)} random problems: "
            + ", ".join(f"{kind} {of(kind, trials)}" for kind in (FALSE_VERDICT, FALSE_CLAIM, FALSE_ERROR, CRASH, OVERRUN))
            + "."
        )
        for stratum in STRATA:
            counts: dict[str, Any] = _counts([record for record in trials if record.stratum == stratum])
            if counts["verified"] or counts[REFUSED]:
                found.append(
                    f"{stratum}: {counts['verified']} verified, {counts[REFUSED]} right models refused "
                    f"({counts['refused of right models, %']:.3f} %, asked for: at most {MOST_REFUSED[stratum]:g} %), "
                    f"{counts[UNVERIFIED]} others unverified, {counts[NO_REFERENCE]} of them without a reference."
                )
    if tampered:
        found.append(
            f"{len(tampered)} tampered answers: {of(FALSE_VERDICT, tampered)} with a false verdict, "
            f"{of(FALSE_CLAIM, tampered)} with a false claim, {of(CRASH, tampered)} crashes."
        )
    if compared:
        contradictions = ", ".join(f"{kind} {of(kind, compared)}" for kind in CONTRADICTIONS)
        found.append(
            f"{sum(record.answered for record in compared)} certificates in doubles and in balls: {contradictions}, "
            f"{of(CRASH, compared)} crashes."
        )
        opened = [record for record in compared if BALLS_PROVE in record.found]
        where = [f"{stratum} {sum(record.stratum == stratum for record in opened)}" for stratum in STRATA]
        odd = sorted({setting for record in opened for setting in record.settings})
        named = f", with {', '.join(odd)}" if odd else ""
        found.append(f"{BALLS_PROVE[0].upper()}{BALLS_PROVE[1:]}: {', '.join(where)}{named}.")
    return found
