"""Count how hard the package is to read. `tests/test_readability.py` holds it to [`LIMITS`].

    python scripts/measure_code.py              # the counts
    python scripts/measure_code.py --worst 20   # and the hardest functions
    python scripts/measure_code.py --names      # and the names that stand in several files

| count | what it is |
|---|---|
| tokens a statement | tokens without comments and docstrings, divided by the number of statements |
| many decisions | functions with more than 10 decisions, as McCabe counts them: 1, and 1 for each branch, loop, condition of a comprehension, and further part of `and` and `or` |
| deep | functions whose decisions, each counted with the depth at which it stands, are more than 15 |
| shared names | names that are defined at the top of several files, so that a reader must ask which one is meant |
| pairs | statements such as `a, b = x, y`, which set several names at once |
"""

import argparse
import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


PACKAGE = Path(__file__).parents[1] / "trl_grpo_rewards"
LIMITS = {"tokens a statement": 12.0, "many decisions": 100, "deep": 15, "shared names": 40, "pairs": 120}
MOST_DECISIONS = 10
MOST_DEPTH = 15
COMMON_NAMES = {"logger", "main", "T"}  # which mean the same in each file
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
DECISIONS = (ast.If, ast.IfExp, ast.ExceptHandler, ast.Assert, ast.match_case, ast.comprehension, *LOOPS)
NESTING = (ast.If, ast.IfExp, ast.ExceptHandler, ast.Match, *LOOPS)
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Function(NamedTuple):
    """A function, with what makes it hard to read."""

    depth: int  # the sum of its decisions, each with the depth at which it stands
    decisions: int
    place: str


class Count(NamedTuple):
    """What was counted in some files."""

    tokens: int
    statements: int
    pairs: int
    functions: list[Function]
    shared: dict[str, list[str]]  # the files that define each shared name

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "tokens a statement": round(self.tokens / self.statements, 2),
            "many decisions": sum(one.decisions > MOST_DECISIONS for one in self.functions),
            "deep": sum(one.depth > MOST_DEPTH for one in self.functions),
            "shared names": len(self.shared),
            "pairs": self.pairs,
        }


def count_files(folder: Path) -> Count:
    tokens = statements = pairs = 0
    functions = list[Function]()
    files_of = defaultdict[str, list[str]](list)
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text("utf-8")
        tree = ast.parse(text)
        place = file.relative_to(folder).as_posix()
        own_tokens, own_statements = count_tokens(text, tree)
        tokens += own_tokens
        statements += own_statements
        pairs += sum(map(is_pair, ast.walk(tree)))
        functions += [measure_function(node, place) for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        for name in list_names(tree):
            files_of[name].append(place)
    shared = {name: files for name, files in files_of.items() if len(files) > 1}
    return Count(tokens, statements, pairs, sorted(functions, reverse=True), shared)


def count_tokens(text: str, tree: ast.Module) -> tuple[int, int]:
    """Return the number of tokens and of statements outside docstrings."""
    lines = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.update(range(node.lineno, node.end_lineno + 1))
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.start[0] not in lines]
    return sum(one.type not in LAYOUT for one in tokens), sum(one.type == tokenize.NEWLINE for one in tokens)


def is_pair(node: ast.AST) -> bool:
    is_tuple = isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
    return is_tuple and isinstance(node.targets[0], ast.Tuple)


def list_names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines at its top."""
    names = set[str]()
    for node in tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return {name for name in names - COMMON_NAMES if not name.startswith("__")}


def measure_function(function: ast.AST, file: str) -> Function:
    decisions, depth = 1, 0
    for node, level in walk_own(function):
        if isinstance(node, DECISIONS):
            decisions += 1
        if isinstance(node, ast.comprehension):
            decisions += len(node.ifs)
        if isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
        if isinstance(node, NESTING):
            depth += 1 + level
        if isinstance(node, (ast.BoolOp, ast.Break, ast.Continue)):
            depth += 1
    return Function(depth, decisions, f"{file}:{function.lineno} {function.name}")


def walk_own(node: ast.AST, level: int = 0) -> Iterator[tuple[ast.AST, int]]:
    """Yield the nodes in a function and the depth of each, without those in functions inside it."""
    for child in ast.iter_child_nodes(node):
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        inner = level + (isinstance(node, NESTING) and not is_elif)
        yield child, inner
        if not isinstance(child, (*FUNCTIONS, ast.Lambda)):
            yield from walk_own(child, inner)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=PACKAGE)
    parser.add_argument("--worst", type=int, default=0, help="number of functions that are named")
    parser.add_argument("--names", action="store_true", help="print the shared names")
    args = parser.parse_args()
    count = count_files(args.folder)
    print(f"tokens: {count.tokens:,}")
    for name, number in count.numbers.items():
        print(f"{name}: {number:g} of at most {LIMITS[name]:g}")
    for one in count.functions[: args.worst]:
        print(f"  {one.depth:3} with depth, {one.decisions:3} decisions  {one.place}")
    for name, files in count.shared.items() if args.names else ():
        print(f"  {name}: {', '.join(files)}")


if __name__ == "__main__":
    main()
