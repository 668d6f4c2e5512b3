"""Random inverse problems over every forward problem and adapter: is an answer ever wrong, an error false, a fit aborted?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from bench_verdicts import KEPT
from machine import available_cores
from measure import say
from tables import Cell, Report, Table
from verdict_children import Job, kept_records, run_jobs
from verdict_forwards import NAMED
from verdict_record import CRASH, FALSE_CLAIM, FALSE_ERROR, FALSE_VERDICT, OVERRUN, REFUSED, UNVERIFIED, Record

DESCRIPTION = "2,000 random problems over all forward problems, approaches, distances and priors against all decisions"
FAMILY = "forwards"
WRONG = (FALSE_VERDICT, FALSE_CLAIM, FALSE_ERROR, CRASH, OVERRUN)
QUICK, FULL, SAID_EVERY = 34, 2_000, 100


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--problems", type=int, help=f"random problems (default: {FULL}; quick: {QUICK})")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem; even ones are ordinary, odd ones extreme")
    parser.add_argument("--jobs", type=int, default=min(2, available_cores()), help="processes at a time")
    parser.add_argument("--resume", action="store_true", help=f"go on with what {KEPT} in the output directory holds")


def run(options: argparse.Namespace) -> Report:
    """Draw, fit and judge, and count."""
    count = options.problems or (QUICK if options.quick else FULL)
    options.output.mkdir(parents=True, exist_ok=True)
    keep = options.output / KEPT
    if not options.resume:
        keep.unlink(missing_ok=True)
    jobs = [Job(FAMILY, "trial", options.seed + at) for at in range(count)]
    known = kept_records(keep) if options.resume else {}
    records = [known[key] for job in jobs if (key := (job.family, job.function, job.seed)) in known]
    left = [job for job in jobs if (job.family, job.function, job.seed) not in known]
    told: Counter[str] = Counter()

    def tell(record: Record) -> None:
        told["done"] += 1
        told.update(list(record.found))
        for kind in WRONG:
            if kind in record.found:
                say(f"{record.seed} {record.settings}: {kind}: {record.found[kind]}")
        if told["done"] % SAID_EVERY == 0:
            say(f"{dict(told)}")

    records += run_jobs(left, options.jobs, keep, tell)
    return report(records)


def report(records: Sequence[Record]) -> Report:
    """Tables and findings of all records."""
    by_kind = [_counts("forward problem", name, records) for name in NAMED]
    settings = sorted({setting for record in records for setting in record.settings} - set(NAMED))
    by_setting = [_counts("with", setting, records) for setting in settings]
    wrong = [record for record in records if any(kind in record.found for kind in WRONG)]
    rows: list[dict[str, Cell]] = [
        {"seed": record.seed, "settings": ", ".join(record.settings), "finding": f"{kind}: {detail}"[:400]}
        for record in wrong
        for kind, detail in record.found.items()
    ]
    tables = [
        Table("inverse_problems", "By forward problem", by_kind),
        Table(
            "inverse_problems_settings",
            "By approach, distance, and what is odd",
            by_setting,
        ),
    ]
    if rows:
        tables.append(Table("inverse_problems_findings", "Every finding", rows, on_page=False))
    numbers = ", ".join(f"{kind} {sum(kind in record.found for record in records)}" for kind in WRONG)
    verified = sum(record.verified for record in records)
    refused = sum(REFUSED in record.found for record in records)
    answered = sum(record.answered for record in records)
    return Report(
        name="inverse_problems",
        title="Inverse problems over every forward problem, against all decisions",
        tables=tables,
        findings=[
            f"{len(records)} random problems: {numbers}.",
            f"{answered} answers, of which {verified} verified, {refused} right ones refused, "
            f"{sum(UNVERIFIED in record.found for record in records)} others unverified; the rest were errors whose sentence "
            "is true, or combinations that are not offered.",
        ],
        method=[
            "Forward problems, adapters with the libraries themselves among them, take turns; even seeds are ordinary, odd "
            "ones have one to three odd things: units of 1e-7 to 1e7 by column or for all, ties, look-alike decisions or "
            "alternatives, one observation, kappa of 1e-9 or 1e6, bounds, centres, an observation twice. Approaches, "
            "distances (names, features, functions), regularizers and priors are drawn for each; a third of the data are "
            "contradictory.",
            "All decisions are enumerated by code of this benchmark; losses and objectives are computed with 60 digits, and "
            "references come from programmes over the whole list in tight settings, moved into their set and evaluated "
            "exactly. Quadratic programmes have one continuous unknown, whose worst decisions are known by formula.",
            "false verdict, false claim, false error, refused, unverified: as for the benchmark verdicts. crash: an exception "
            "that is none of surefoot's, or a process that died. overrun: no answer within two minutes. What a solver of "
            "one's own says is never verified; its bounds must hold.",
        ],
        not_measured=["Problems whose decisions cannot be enumerated here; quadratic costs of several unknowns."],
    )


def _counts(what: str, name: str, records: Sequence[Record]) -> dict[str, Cell]:
    chosen = [record for record in records if name in record.settings]
    counts: dict[str, Cell] = {what: name, "problems": len(chosen), "answers": sum(record.answered for record in chosen)}
    counts["verified"] = sum(record.verified for record in chosen)
    return counts | {kind: sum(kind in record.found for record in chosen) for kind in (*WRONG, REFUSED, UNVERIFIED)}
