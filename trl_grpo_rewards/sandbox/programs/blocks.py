"""Finds the program in a completion: a closed block of code, which may be in a list or a quote."""

import ast
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field

from ...texts import REASONING_MARKS, strip_reasoning
from .cases import OutputCase, RowTests, list_required
from .python_tests import UnreadableTests, list_bound


PYTHON = re.compile(r"(?i)[\s{.]*i?py(?:thon|py)?(?:3[\d.]*)?(?![\w-])")  # also in braces and with a version
# A mark of the reasoning, a tag such as `</answer>`, or a token of a chat template such as `<|im_end|>`.
END_MARK = "|".join([*(re.escape(mark) for pair in REASONING_MARKS for mark in pair), r"<[/|｜]?[\w▁]{1,40}[|｜]?>"])
# What is before a fence in a quote or at the beginning of a list item.
CONTAINERS = r"(?:[ \t]*+(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))*+[ \t]*+"
OPENING = re.compile(rf"(?:.*(?:{END_MARK}))?({CONTAINERS})(`{{3,}}|~{{3,}})([^`]*)")
CLOSING = re.compile(rf"([ \t]*)(`{{3,}}|~{{3,}})\s*((?:{END_MARK}).*)?")
DEFINITION = re.compile(r"(?m)^(?:[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+|(?=\w+[ \t]*(?::[^=\n]+)?=[^=]))(\w+)")
INPUT_NAMES = frozenset(
    "input stdin fileinput open fdopen read".split()
)  # names by which programs read standard input
MAX_PROGRAM_CHARS = 200_000  # longer blocks count as missing; contests usually allow 64 KB


@dataclass
class Block:
    fence: str
    info: str
    quotes: int
    column: int
    lines: list[str] = field(default_factory=list)
    is_closed: bool = False
    has_reasoning_end: bool = False

    @property
    def program(self) -> str:
        """The lines without the indent of the fence. Code that is indented less than the fence is unchanged."""
        indents = (measure_indent(line) for line in self.lines if line.strip())
        columns = min(self.column, next(indents, self.column))
        cut = (" " * (measure_indent(line) - columns) + line.lstrip(" \t") for line in self.lines)
        return "\n".join(cut if columns else self.lines) + "\n"


def find_program(text: str, tests: RowTests | UnreadableTests | None = None) -> str | None:
    """
    Return the last block that does what the tests need: it defines most of their names, or reads their input. A last block
    without an end is none.
    """
    blocks = list_blocks(text)
    programs = [
        (PYTHON.match(block.info) is not None, block.program)
        for block in reversed(blocks)
        if PYTHON.match(block.info) or not block.info.strip("{} \t\r")
    ]
    if not programs or not blocks[-1].is_closed:
        return None
    names = set[str]()
    has_input = False
    if isinstance(tests, RowTests) and len(programs) > 1:
        names = list_required(tests)
        has_input = any(isinstance(case, OutputCase) and case.input.strip() for case in tests.cases)
    _, program = max(
        programs, key=lambda pair: (count_defined(pair[1], names) + (has_input and is_reading(pair[1])), pair[0])
    )
    return program if len(program) <= MAX_PROGRAM_CHARS else None


def list_blocks(text: str) -> list[Block]:
    """Return the closed blocks outside of the reasoning, also less indented than their list, and one that is never closed."""
    for start, end in REASONING_MARKS:
        if text.lstrip().startswith(start):  # it may leave fences open
            text = text.partition(end)[2]
    outside = list[str]()
    blocks = list[Block]()
    block = None
    for line in text.replace("\0", "\ufffd").split("\n"):
        may_be_fence = "```" in line or "~~~" in line
        opening = OPENING.fullmatch(line) if may_be_fence else None
        if block and (quote := re.match(rf"(?:[ \t]*+> ?+){{{block.quotes}}}", line)):
            content = line[quote.end() :]
            closing = CLOSING.fullmatch(content) if may_be_fence else None
            if closing and closing[2].startswith(block.fence) and measure_indent(content) < block.column + 4:
                outside += [f"\0{len(blocks)}\0", closing[3] or ""]
                blocks.append(block)
                block.is_closed = True
                block = None
                continue
            block.has_reasoning_end |= any(end in line for _, end in REASONING_MARKS)
            limit = block.column + 4 * block.has_reasoning_end
            if not opening or not opening[3].strip() or measure_indent(content) >= limit:
                block.lines.append(content)
                continue
        outside += block.lines if block else []  # which ended without a closing fence
        outside.append(line[: opening.start(1)] if opening else line)
        block = open_block(*opening.groups()) if opening else None
    if block:
        outside.append(f"\0{len(blocks)}\0")
        blocks.append(block)
    return [blocks[int(place)] for place in re.findall("\0(\\d+)\0", strip_reasoning("\n".join(outside)))]


def open_block(before: str, fence: str, info: str) -> Block:
    quotes = before.count(">")
    indent = before.rpartition(">")[2].removeprefix(" " if quotes else "")
    return Block(fence, info, quotes, len(indent.expandtabs(4)))


def measure_indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def count_defined(program: str, names: Collection[str]) -> int:
    """Return how many of the names a program defines. A piece that ends with `def f(x):` or `...` defines none."""
    code = (line.partition("#")[0].rstrip() for line in reversed(program.split("\n")))
    is_piece = next(filter(None, code), "").endswith((":", "..."))
    return 0 if is_piece else len({*DEFINITION.findall(program)}.intersection(names))


def is_reading(program: str) -> bool:
    """Return whether a program reads standard input. An example that replaces it does not, nor does code that cannot run."""
    if len(program) > MAX_PROGRAM_CHARS or not any(name in program for name in INPUT_NAMES):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):  # such as about "\\d"
            nodes = [*ast.walk(ast.parse(program))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    used = {
        getattr(node, "id", getattr(node, "attr", ""))
        for node in nodes
        if isinstance(getattr(node, "ctx", None), ast.Load)
    }
    return not INPUT_NAMES.isdisjoint(used - {*list_bound(nodes)})
