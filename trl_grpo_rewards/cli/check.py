"""`trl-grpo-rewards check`: check rewards, dataset, configuration and chat template before a job uses GPU hours."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from datasets import Dataset

from ..checks import Findings, as_text, check
from ..checks.contract import check_readiness
from ..checks.gameability import check_judges
from . import console
from .job import choose_model, describe_sizes, load_tokenizer, prepare_job, read_job


def main(arguments: Sequence[str]) -> None:
    with console.exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "check")
        if job.selftest:
            with console.keep_stdout_for_json(job.json):
                results = try_labelled()
            sys.exit(show_results(results, is_json=job.json))
        with console.keep_stdout_for_json(job.json):
            rewards, problems, held_out = prepare_job(job, training)
            name = choose_model(model.model_name_or_path, job.dataset_name)
            tokenizer, shape = load_tokenizer(name, model, training) if name else (None, None)
    with console.keep_stdout_for_json(job.json):
        found = check(rewards, problems, training, tokenizer, job.bad_golds, shape)
        found += [check_judges(rewards, problems)] if job.judge else []
    if job.json:
        console.print_json({"expression": str(rewards), **describe_findings(found)})
    else:
        print(describe_sizes(problems, held_out))
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
    last = f"{console.count(len(faults), 'fault')} found." if faults else "No fault found."
    lines = [*console.format_table(rows, "<>>"), "", *shown, *([""] if shown else [])]
    return "\n".join([*lines, f"{last} --details shows every finding."])


def try_labelled() -> list[dict[str, Any]]:
    """Check each labelled reward with its data. The result is found, missed, quiet, warned, a false alarm, or not run."""
    from ..demo.labelled_rewards import DATA, LABELLED

    results = []
    for name, said, rewards, data in LABELLED:
        is_ready = not check_readiness(rewards).faults
        found = check(rewards, Dataset.from_dict(DATA[data])) if is_ready else []
        faults, warnings = ([text for one in found for text in getattr(one, kind)] for kind in ("faults", "warnings"))
        meant = [text for text in faults + warnings if re.search(said, text)]
        result = "false alarm" if faults else "warned" if warnings else "quiet"
        result = "not run" if not is_ready else result if not said else "found" if meant else "missed"
        row = {"reward": name, "data": data, "is_broken": bool(said), "result": result}
        results.append({**row, "finding": (meant or [""])[0]})
    return results


def show_results(results: list[dict[str, Any]], *, is_json: bool) -> int:
    broken, healthy = ([one["result"] for one in results if one["is_broken"] is kind] for kind in (True, False))
    missed, alarms = broken.count("missed"), healthy.count("false alarm")
    if is_json:
        console.print_json({"selftest": results})
    else:
        rows = [
            [one["reward"], one["data"], "broken" if one["is_broken"] else "healthy", one["result"]] for one in results
        ]
        print(*console.format_table([["reward", "data", "it is", "result"], *rows], "<<<<"), sep="\n")
        print(
            f"\n{broken.count('found')} of {len(broken)} broken rewards found, {missed} missed; {alarms} of {len(healthy)} "
            f"healthy rewards called faulty, {healthy.count('warned')} with a warning."
        )
    return console.FAULTY if alarms or missed else console.FINE
