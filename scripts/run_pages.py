"""Run the Python and the commands of the README and the tutorial, in their order, as a new user would.

    python scripts/run_pages.py

It needs only the package. Models and datasets of the hub are replaced by bundled ones, and trainings are short. A command may
end with an error only if the page shows the fault that it finds.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/tutorial.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WORDS = """(?:'[^']*'|"[^"]*"|[^'"\n])*"""  # the rest of a command, in which a text in quotes may have several lines
COMMAND = re.compile(rf"^(?:\$ )?((?:trl-grpo-rewards|accelerate launch) {WORDS})$", re.MULTILINE)
SAVED = re.compile(r"`(\w+\.(?:py|csv))`")  # the file that a block shows, in the text before the block
# A dataset that the README names without showing it, and one in place of the hub's
FILES = {
    "mails.csv": 'mail,fields\n"Two for Ann, please.","{""name"": ""Ann"", ""tickets"": 2}"\n'
    + '"Bob here. I need one.","{""name"": ""Bob"", ""tickets"": 1}"\n',
    "problems.jsonl": "".join(json.dumps({"question": f"{n} + 2?", "answer": str(n + 2)}) + "\n" for n in range(64)),
}
REPLACED = {
    "accelerate launch": "{python} -m accelerate.commands.launch",  # its own script may belong to another environment
    "scripts/train.py": str(ROOT / "scripts" / "train.py"),
    "Qwen/Qwen2.5-0.5B-Instruct": "{model}",
    "openai/gsm8k": "problems.jsonl",
    " --dataset_config main": "",
    # whose data have two rows on the page
    "--config smollm2-fields": "--config smollm2-fields --model_name_or_path {model} --use_peft false --dtype float32 "
    + "--gradient_accumulation_steps 2",
    "--config gsm8k": "--config gsm8k --model_name_or_path {model} --dataset_name problems.jsonl --dataset_config= ",
}
SHORT = "--max_steps 2 --per_device_train_batch_size 8 --gradient_accumulation_steps 2 --max_completion_length 48 --eval_prompts 4"


class Step(NamedTuple):
    """What a page tells its reader to do."""

    kind: str  # "python", "command" or "file"
    text: str
    name: str = ""  # of a file
    has_fault: bool = False  # whether the page shows a fault that a command finds


def read_steps(page: str) -> list[Step]:
    """Return the steps of a page."""
    steps: list[Step] = []
    # Texts and blocks take turns: the text, the language of the block after it, and the block
    parts = BLOCK.split(page)
    for text, language, block, shown in zip(parts[::3], parts[1::3], parts[2::3], [*parts[5::3], ""], strict=False):
        saved = SAVED.findall(text)
        if saved and language in ("python", ""):
            steps.append(Step("file", block, saved[-1]))
        elif language == "python":
            steps.append(Step("python", block))
        for command in COMMAND.findall(block.replace("\\\n", "")):
            steps.append(Step("command", command, has_fault="fault:" in block + shown))
    return steps


def shorten(command: str, model: str) -> list[str]:
    """Return the arguments of a command, with what is here in place of what is on the hub."""
    for old, new in REPLACED.items():
        command = command.replace(old, new.format(model=model, python=sys.executable))
    arguments = shlex.split(command, comments=True)
    is_training = "train" in arguments or REPLACED["scripts/train.py"] in arguments
    return arguments + SHORT.split() * is_training


def run(step: Step, folder: Path, model: str) -> None:
    """Take a step. End this script if it fails."""
    if step.kind == "file":
        (folder / step.name).write_text(step.text)
        return
    arguments = [sys.executable, "-c", step.text] if step.kind == "python" else shorten(step.text, model)
    print(f"--- {shlex.join(arguments)}", flush=True)
    done = subprocess.run(arguments, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    expected = 1 if step.has_fault else 0
    if done.returncode != expected or "Traceback" in done.stdout:
        sys.exit(
            f"{done.stdout}\nExpected the status {expected}, but it is {done.returncode}. Mend the page or the code."
        )


def main() -> None:
    from trl_grpo_rewards import demo

    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for name in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            for file, text in FILES.items():
                Path(folder, file).write_text(text)
            steps = read_steps((ROOT / name).read_text())
            for step in steps:
                run(step, Path(folder), demo.MODEL)
            print(f"{name}: {len(steps)} steps", flush=True)


if __name__ == "__main__":
    main()
