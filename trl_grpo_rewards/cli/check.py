"""`trl-grpo-rewards check`: check rewards, dataset, configuration and chat template before a job uses GPU hours."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..checks import Findings, as_text, check
from ..checks.all_checks import count_faults, describe_untried
from . import console
from .job import BECOME_MESSAGES, describe_sizes, load_tokenizer, prepare_job
from .job_data import fit_prompts
from .job_files import choose_model
from .job_options import read_job


def main(arguments: Sequence[str]) -> None:
    with console.exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "check")
        with console.keep_stdout_for_json(job.json):
            rewards, problems, held_out = prepare_job(job, training)
            name = choose_model(model.model_name_or_path, job.dataset_name)
            tokenizer, shape = load_tokenizer(name, model, training) if name else (None, None)
            as_read, held_out = (fit_prompts(part, tokenizer) for part in (problems, held_out))
    with console.keep_stdout_for_json(job.json):
        found = check(rewards, as_read, training, tokenizer, job.bad_golds, shape)
    if job.json:
        console.print_json({"expression": str(rewards), **describe_findings(found)})
    else:
        print(describe_sizes(problems, held_out), *[BECOME_MESSAGES] * (as_read is not problems), sep="\n")
        if tokenizer is None:
            print("No model is set, so words count as tokens, and no chat template is checked.")
            print("Set --model_name_or_path to check both. `train` needs it, too.\n")
        print(as_text(found) if job.details else summarize_findings(found))
    sys.exit(console.FAULTY if any(one.faults for one in found) else console.FINE)


def describe_findings(findings: Sequence[Findings]) -> dict[str, Any]:
    """Return the findings with stable keys, for JSON. Attacks or a dry run that were not tried are None."""
    texts = {name: [text for one in findings for text in getattr(one, name)] for name in ("warnings", "faults")}
    data: dict[str, Any] = {"attacks": None, "dry_run": None}
    for one in findings:
        data |= one.data
    checks = [{name: value for name, value in asdict(one).items() if name != "data"} for one in findings]
    return {**texts, **data, "checks": checks}


def summarize_findings(findings: Sequence[Findings]) -> str:
    rows = [["check", "warnings", "faults"]]
    for one in findings:
        counts = [str(len(one.warnings)), str(len(one.faults))] if one.is_run else ["not run", "not run"]
        rows.append([one.title, *counts])
    faults = [f"fault: {text}" for one in findings for text in one.faults]
    warnings = [f"warning: {text}" for one in findings for text in one.warnings]
    shown = console.format_texts([*faults, *warnings], "--details")
    first = console.format_texts(describe_untried(findings), "")
    lines = [
        *first,
        *([""] if first else []),
        *console.format_table(rows, "<>>"),
        "",
        *shown,
        *([""] if shown else []),
    ]
    return "\n".join([*lines, *console.format_texts([f"{count_faults(findings)} --details shows every finding."], "")])
