"""The command `trl-grpo-rewards`, with a module for each subcommand."""

import argparse
import importlib
import io
import sys
from collections.abc import Sequence
from importlib.metadata import version

from .command_errors import CommandParser
from .output import EXIT_CODES, flush_output


COMMANDS = {
    "train": "train a model with GRPO; without options, the bundled model on the bundled task",
    "check": "check a job without loading the model",
    "score": "score completions that were sampled before",
    "report": "make a page about a run",
}
"""What each subcommand does. A subcommand is the function `main` of the module with its name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand with its arguments, by default those of the process."""
    try:
        run_subcommand(sys.argv[1:] if arguments is None else arguments)
    except OSError:
        flush_output("\n")  # ends the process if the error is that of standard output
        raise
    finally:
        flush_output()


def run_subcommand(arguments: Sequence[str]) -> None:
    listed = "\n".join(f"  {name:7} {what}" for name, what in COMMANDS.items())
    parser = CommandParser(
        prog="trl-grpo-rewards",
        usage="%(prog)s COMMAND [OPTION ...]",
        description=f"Composable rewards for GRPO.\n\ncommands:\n{listed}",
        epilog=f"{EXIT_CODES}\n\n'trl-grpo-rewards COMMAND --help' lists the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("trl_grpo_rewards"))
    parser.add_argument("command", choices=COMMANDS, help=argparse.SUPPRESS)
    command = parser.parse_args(arguments[:1] or ["--help"]).command
    for stream in (sys.stdout, sys.stderr):  # a completion may have characters that the terminal or file cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        importlib.import_module(f".{command}", __package__).main(arguments[1:])
    except KeyboardInterrupt:
        print(f"\ntrl-grpo-rewards {command} was interrupted.", file=sys.stderr)
        sys.exit(130)
