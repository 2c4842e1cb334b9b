"""`trl-grpo-rewards report`: make a page about a training run, or about several, from their group records."""

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path

from ..report.live import LiveServer
from ..report.pages import write_page
from .command_errors import CommandParser, exit_on
from .output import EXIT_CODES, print_json
from .report_summary import describe_report, summarize_report


def build_parser() -> CommandParser:
    parser = CommandParser(
        prog="trl-grpo-rewards report",
        description="Make a page about a training run, with its statistics, warnings and groups. The page is a single file\n"
        "that works offline. It is made from the group records of the run (group_records=True, the default).\n"
        "With several runs, the page compares them.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="output directory of a run")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write; default: RUN/report.html, or comparison.html for several",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="instead of writing a file, serve the page on this machine and follow the runs until Ctrl-C",
    )
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    parser.add_argument("--port", type=int, help="port of --live; default: any free port")
    return parser


def main(arguments: Sequence[str]) -> None:
    options = build_parser().read_arguments(arguments)
    with exit_on(OSError, ValueError):
        if options.live and (options.out or options.json):
            raise ValueError("--live serves the page and writes no file. Leave out --out, --json or --live.")
        if options.port is not None and not (options.live and 0 <= options.port < 1 << 16):
            raise ValueError(f"--port must be from 0 to 65535 and needs --live; got --port {options.port}.")
        if options.live:
            return serve(options.runs, options.port or 0)
        out = options.out or choose_file(options.runs)
        report = describe_report(write_page(options.runs, out), out)
    if options.json:
        print_json(report)
    else:
        print(summarize_report(report))


def choose_file(runs: Sequence[Path]) -> Path:
    """Return the file to write by default."""
    if len(runs) > 1:
        return Path("comparison.html")
    return (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"


def serve(runs: Sequence[Path], port: int) -> None:
    """Serve the live page until it is interrupted. The runs may have no records yet."""
    for run in runs:
        if not run.exists():
            raise FileNotFoundError(f"There is no '{run}'. Pass the output_dir of a run that has started.")
    with LiveServer(runs, port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"The page is at {server.url} until you press Ctrl-C.", flush=True)
        server.serve_forever()
