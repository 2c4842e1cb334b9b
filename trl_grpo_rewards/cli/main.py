"""The command `trl-grpo-rewards`, with a module for each subcommand."""

import argparse
import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from .console import INTERRUPTED, CommandParser, flush_output
from .read_ahead import DESCRIPTIONS, build_parser, load_options, read_ahead


COMMANDS = {
    "train": "train a model with GRPO; without options, the bundled model on the bundled task",
    "check": "check a job without loading the model",
    "score": "score completions that were sampled before",
    "report": "make a page about a run",
}
"""
What each subcommand does. A subcommand is the module with its name, which has the function `main`, and `build_parser`
unless `read_ahead` describes it.
"""

INTERRUPTS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand with its arguments, by default those of the process. SIGTERM and SIGHUP interrupt it as Ctrl-C does."""
    for number in INTERRUPTS:
        with contextlib.suppress(ValueError):  # a thread cannot set it
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, signal.default_int_handler)
    if "_ARGCOMPLETE" in os.environ:
        complete()
    try:
        run_subcommand(sys.argv[1:] if arguments is None else arguments)
    except OSError:
        flush_output("\n")  # ends the process if the error is that of standard output
        raise
    finally:
        flush_output()


def complete() -> None:
    """Answer a shell that asks how a command line goes on, if argcomplete is installed."""
    with contextlib.suppress(ImportError):
        import argcomplete

        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        for name in COMMANDS:
            if name in DESCRIPTIONS:
                own = build_parser(name, load_options(name))
            else:
                own = import_module(f".{name}", __package__).build_parser()
            commands.add_parser(name, parents=[own], add_help=False)
        argcomplete.autocomplete(parser)


def run_subcommand(arguments: Sequence[str]) -> None:
    listed = "\n".join(f"  {name:7} {what}" for name, what in COMMANDS.items())
    parser = CommandParser(
        prog="trl-grpo-rewards",
        usage="%(prog)s COMMAND [OPTION ...]",
        description=f"Composable rewards for GRPO.\n\ncommands:\n{listed}",
        epilog="'trl-grpo-rewards COMMAND --help' lists the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("trl_grpo_rewards"))
    parser.add_argument("command", choices=COMMANDS, help=argparse.SUPPRESS)
    command = parser.parse_args(arguments[:1] or ["--help"]).command
    for stream in (sys.stdout, sys.stderr):  # a completion may have characters that the terminal or file cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        rest = read_ahead(command, arguments[1:]) if command in DESCRIPTIONS else arguments[1:]
        import_module(f".{command}", __package__).main(rest)  # others are not loaded, because they import torch
    except KeyboardInterrupt:
        print(f"\ntrl-grpo-rewards {command} was interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
