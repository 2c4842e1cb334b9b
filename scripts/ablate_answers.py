r"""Remove the rules of the answers wing one at a time, and print those that no verdict misses.

    python scripts/ablate_answers.py                      # all modules, on all cores
    python scripts/ablate_answers.py --module units       # the modules with this name
    python scripts/ablate_answers.py --json rules.json    # writes all rules, with the verdicts that each changes

A rule is an entry of a table at the top of a module (an item of a literal, or a word of a text), a function
that can return nothing of interest (None, False, an empty value, or its argument), or a branch of an `if` in a function.
Each rule is removed from the syntax tree, in a process of its own, and every pair of a solution and an answer is judged
again: the outside data, and cases.txt, completions.txt and cells.txt in tests/verify. The cases are also judged with other
options of the rewards, the completions by each way to find an answer, and the cells by what their texts alone decide. A
rule that changes no verdict has no datum: give it a case, or remove it. The rules inside such a rule are not listed again.

By default, a rule is left as soon as one verdict has changed, and the rows that missed earlier rules are judged first.
"""

import argparse
import ast
import contextlib
import decimal
import fractions
import gzip
import importlib
import importlib.machinery
import importlib.util
import itertools
import json
import multiprocessing
import os
import sys
import textwrap
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy


ROOT = Path(__file__).parents[1]
VARIABLE = "TRL_GRPO_REWARDS_DATA"
FOLDERS = ("mathematics", "verify")
DATA = ("pairs.dev", "math_verify_cases.dev", "answers_attack.dev", "answers_attack2.dev")
OPTIONS = [{"units": "ignore"}, {"units": "must_match", "tolerance": 0.001, "evaluated": True}]
MISSING: list[int] = []  # rows that missed earlier rules in this process, the last one first

BEFORE: list[str] | None = None  # the verdicts of each row with all rules, if a run ends with the first change

CPU_SECONDS = 120
"""Limit of one run. A rule without which judging never ends is missed."""

Row = tuple[str, str, str | None, str]
"""The set, the solution, the answer, and the text in which the answer must be found if it is None."""


@dataclass
class Rule:
    """A part of a module that can be removed."""

    module: str
    kind: str
    """`entry`, `function` or `branch`."""
    line: int
    end: int
    lines: int
    """The number of lines that go with it."""
    text: str
    """How it begins."""
    node: int
    """The place of the node in a walk through the syntax tree."""
    part: int = 0
    """The place of the entry in the node."""


def find_rules(module: str, source: str) -> list[Rule]:
    """Return all rules of a module."""
    tree = ast.parse(source)
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    lines = source.splitlines()

    def make(kind: str, node: ast.AST, first: ast.AST, last: ast.AST, text: str, part: int = 0, whole: bool = True):
        count = last.end_lineno - first.lineno + 1 if whole else 0
        return Rule(module, kind, first.lineno, last.end_lineno, count, text[:100], places[id(node)], part)

    rules = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            for node in find_tables(statement.value):
                for part, (item, text) in enumerate(list_entries(node)):
                    if text == "|":  # separates the columns of a table
                        continue
                    owns_lines = "".join(lines[item.lineno - 1 : item.end_lineno]).strip(" ,") == text.strip()
                    rules.append(make("entry", node, item, item, text, part, owns_lines))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if find_neutral(node) is not None:
                rules.append(make("function", node, node, node, f"{node.name}()"))
            for inside in ast.walk(node):
                if isinstance(inside, ast.If):
                    rules.append(make("branch", inside, inside, inside.body[-1], f"if {ast.unparse(inside.test)}"))
    return [*{(rule.kind, rule.node, rule.part): rule for rule in rules}.values()]


def find_tables(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the literals and texts of a table, also inside calls, but not the items of an item nor patterns."""
    if isinstance(value, ast.Dict):
        yield value
        for key, item in zip(value.keys, value.values, strict=True):
            if key is None or isinstance(item, ast.Dict | ast.Set | ast.List | ast.Constant):
                yield from find_tables(item)
    elif isinstance(value, ast.Set | ast.List | ast.Tuple):
        yield value
        for item in value.elts:
            if isinstance(item, ast.Starred | ast.Dict | ast.Set):
                yield from find_tables(item)
    elif isinstance(value, ast.Subscript):  # a type
        return
    elif isinstance(value, ast.Constant):
        yield value
    elif not (isinstance(value, ast.Call) and ast.unparse(value.func).startswith("re.")):
        for child in ast.iter_child_nodes(value):
            if isinstance(child, ast.comprehension):
                yield from find_tables(child.iter)
            elif isinstance(child, ast.expr):
                yield from find_tables(child)


def list_entries(node: ast.expr) -> list[tuple[ast.expr, str]]:
    """Return the entries of a table, each with its text: words of a text, pairs of a dict, items."""
    if isinstance(node, ast.Constant):
        return [(node, part) for part in split_text(node.value)]
    if isinstance(node, ast.Dict):
        return [
            (value, f"{ast.unparse(key)}: {ast.unparse(value)}")
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        ]
    return [(item, ast.unparse(item)) for item in node.elts if not isinstance(item, ast.Starred)]


def split_text(text: object) -> list[str]:
    """Return the words of a text of several words, or the letters of a text in a script without spaces."""
    words = text.split() if isinstance(text, str) else []
    if len(words) == 1 and len(words[0]) > 1 and all(letter > "\u2e7f" for letter in words[0]):
        return [*words[0]]
    return words if len(words) > 1 else []


def find_neutral(function: ast.FunctionDef) -> str | None:
    """Return what a function returns if its rule does not apply, as source, or None if it always has a result."""
    returns = ast.unparse(function.returns) if function.returns else ""
    arguments = [argument for argument in function.args.args if argument.arg != "self"]
    if "None" in returns:
        return "None"
    if returns == "bool":
        return "False"
    for name, empty in (("list", "[]"), ("set", "set()"), ("dict", "{}"), ("tuple", "()"), ("Iterator", "iter(())")):
        if returns.startswith(f"{name}["):
            return empty
    if arguments and arguments[0].annotation and ast.unparse(arguments[0].annotation) == returns:
        return arguments[0].arg
    return None


def remove(source: str, rule: Rule) -> ast.Module:
    """Return the syntax tree of a module without a rule."""
    tree = ast.parse(source)
    node = [*ast.walk(tree)][rule.node]
    if isinstance(node, ast.FunctionDef):
        node.body = [ast.parse(f"return {find_neutral(node)}").body[0]]
    elif isinstance(node, ast.If):  # the test may set names
        node.test = ast.BoolOp(ast.And(), [node.test, ast.Constant(False)])
    elif isinstance(node, ast.Dict):
        part = [place for place, key in enumerate(node.keys) if key is not None][rule.part]
        del node.keys[part], node.values[part]
    elif isinstance(node, ast.Constant):
        node.value = drop_word(node.value, rule.part)
    else:
        part = [place for place, item in enumerate(node.elts) if not isinstance(item, ast.Starred)][rule.part]
        del node.elts[part]
        if isinstance(node, ast.Set) and not node.elts:  # there is no literal of an empty set
            node.elts = [ast.Starred(ast.Tuple([], ast.Load()), ast.Load())]
    return ast.fix_missing_locations(tree)


def drop_word(text: str, number: int) -> str:
    """Return a text without one of its words. Spaces and lines stay, since they may have a meaning."""
    place = 0
    for word in split_text(text)[: number + 1]:
        place = text.index(word, place) + len(word)
    return text[: place - len(word)] + text[place:]


def read_rows(folder: Path | None, cases: Path) -> list[Row]:
    """Return what is judged: the outside data, and the cases."""
    rows: list[Row] = []
    for name in DATA if folder else ():
        path = folder / f"{name}.jsonl.gz"
        if not path.is_file():
            print(f"There is no {path}. Its verdicts are not counted.")
            continue
        with gzip.open(path, "rt") as file:
            for row in map(json.loads, file):
                text = row.get("completion") or row.get("pred") or ""
                rows.append((name, row["gold"], row.get("answer"), text))
    for line in cases.read_text().splitlines():
        if line[:2] in ("T ", "F ", "? ") and " # " in line:
            gold, _, answer = line[2:].partition(" # ")
            rows.append(("cases", gold, answer, ""))
    completions = cases.with_name("completions.txt")
    for line in completions.read_text().splitlines()[1:] if completions.is_file() else ():
        gold, _, text = line[2:].partition(" # ")
        rows.append(("completions", gold, None, text.replace("¶", "\n")))
    cells = cases.with_name("cells.txt")
    for line in cells.read_text().splitlines()[1:] if cells.is_file() else ():
        rows.append(("cells", line, None, ""))
    return [*dict.fromkeys(rows)]


def judge(package: str, rows: list[Row], order: list[int], before: list[str] | None) -> dict[int, str]:
    """
    Return the verdicts of each row, a sign for each set of options. Modules must not have been imported before.

    If the verdicts of an earlier run are given, it ends with the first row whose verdicts are others.
    """
    settle = importlib.import_module(f"{package}.verify.verification").settle
    read_gold = importlib.import_module(f"{package}.verify.solutions").read_gold
    statements = importlib.import_module(f"{package}.verify.statements")
    strip_reasoning = importlib.import_module(f"{package}.texts").strip_reasoning
    make_rules = importlib.import_module(f"{package}.mathematics.matching").AnswerRules
    verdicts = {}
    for place in order:
        name, gold, answer, text = rows[place]
        signs = judge_cell(package, gold) if name == "cells" else ""
        ways = [] if signs else [statements.find_boxed_answer]
        if name == "completions":
            ways = [
                statements.find_stated_answer,
                *(partial(ways[0], which=which) for which in ("last", "only", "first")),
            ]
        for options, find in itertools.product([{}, *(OPTIONS if name == "cases" else [])], ways):
            try:
                right = read_gold(gold)
                given = find(strip_reasoning(text)) if answer is None else answer
                verdict = None if right is None else given and settle(right, given, make_rules(**options))
                signs += "?" if verdict is None else "1" if verdict else "0"
            except Exception:  # a rule may keep the code after it from crashing
                signs += "!"
        verdicts[place] = signs
        if before is not None and signs != before[place]:
            break
    return verdicts


def judge_cell(package: str, line: str) -> str:
    """
    Return the verdict on a value of a column, and what texts alone decide: whether math-verify is not asked, and whether
    the answer is copied from the prompt or spelt as a solution.
    """
    equality = importlib.import_module(f"{package}.verify.verification")
    golds = importlib.import_module(f"{package}.verify.solutions")
    spell = importlib.import_module(f"{package}.mathematics.tokens").spell
    rules = importlib.import_module(f"{package}.mathematics.matching").AnswerRules()
    _, cell, answer, prompt = eval(line, {"decimal": decimal, "fractions": fractions, "numpy": numpy})
    try:
        texts = [golds.read_gold(one) for one in golds.list_solutions(cell)]
        verdicts = [None if text is None else equality.settle(text, answer, rules) for text in texts]
        best = golds.choose_best([None if verdict is None else float(verdict) for verdict in verdicts])
        decided = (
            equality.is_unfit(answer),
            equality.is_restated(answer, prompt),
            spell(answer) in map(spell, filter(None, texts)),
        )
        return "".join("?" if one is None else str(int(one)) for one in (best, *decided))
    except Exception:  # a rule may keep the code after it from crashing
        return "!!!!"


def judge_without(rule: Rule | None) -> tuple[Rule | None, dict[int, str] | None, list[str]]:
    """Judge in a fork without a rule. The verdicts are None if the package cannot be imported or never ends."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with open(writing, "w") as out, contextlib.suppress(Exception), open(os.devnull, "w") as silence:
            os.dup2(silence.fileno(), 2)
            limit_time()
            package = prepare_package()
            if rule is not None:
                sys.meta_path.insert(0, Without(f"{package}.{rule.module}", rule))
            verdicts = judge(package, ROWS, [*dict.fromkeys([*MISSING, *range(len(ROWS))])], BEFORE)
            names = [name.removeprefix(f"{package}.") for name in sys.modules if package in name]
            json.dump([[*verdicts.items()], names], out)
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        text = file.read()
    os.wait()
    verdicts, modules = json.loads(text) if text else (None, [])
    if verdicts and BEFORE and verdicts[-1][1] != BEFORE[verdicts[-1][0]]:
        MISSING.insert(0, verdicts[-1][0])
    return rule, verdicts and dict(verdicts), modules


class Without(importlib.machinery.SourceFileLoader):
    """Finds and loads a module without one of its rules, whatever imports it."""

    def __init__(self, name: str, rule: Rule) -> None:
        super().__init__(name, str(find_path(rule.module)))
        self.rule = rule

    def find_spec(self, name: str, path: object = None, target: object = None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def get_code(self, name: str) -> types.CodeType:
        return compile(remove(Path(self.path).read_text(), self.rule), self.path, "exec")


def prepare_package() -> str:
    """Make the modules of the package importable without its `__init__`, which would import them all unchanged."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE.name]:
        del sys.modules[name]
    package = types.ModuleType(PACKAGE.name)
    package.__path__ = [str(PACKAGE)]
    sys.modules[PACKAGE.name] = package
    return PACKAGE.name


def limit_time() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def find_path(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


def count_changes(verdicts: dict[int, str] | None, before: dict[int, str]) -> Counter[str]:
    """Return how many verdicts of each set a rule changes. Without verdicts, it changes all of them."""
    changes: Counter[str] = Counter()
    for place, signs in (verdicts or before).items():
        for number, (sign, old) in enumerate(zip(signs, before[place], strict=True)):
            changes["other options" if number else ROWS[place][0]] += sign != old or not verdicts
    return changes


def report(found: list[tuple[Rule, Counter[str]]]) -> None:
    """Print the rules that nothing misses."""
    by_module = defaultdict(list)
    for rule, changes in found:
        by_module[rule.module].append((rule, changes))
    total = 0
    for module, rules in by_module.items():
        unmissed = [rule for rule, changes in rules if not any(changes.values())]
        outer = [rule for rule in unmissed if not any(is_inside(rule, other) for other in unmissed)]
        lines = sum(rule.lines for rule in outer)
        total += lines
        print(f"\n{module}: {len(unmissed)} of {len(rules)} rules are missed by nothing, with {lines} lines.")
        for rule in sorted(outer, key=lambda rule: rule.line):
            text = f"{rule.line}-{rule.end} {rule.kind} ({rule.lines}): {rule.text}"
            print(f"  {textwrap.shorten(text, 110)}")
    print(f"\n{total} lines in all are missed by nothing.")


def is_inside(rule: Rule, other: Rule) -> bool:
    is_part = other.kind != "entry" and rule is not other
    return is_part and other.line <= rule.line and rule.end <= other.end and other.lines > rule.lines


def main() -> None:
    global PACKAGE, ROWS, BEFORE
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", help="name of a module, such as units or mathematics.units")
    parser.add_argument("--json", type=Path, help="file for the rules with the number of verdicts that each changes")
    parser.add_argument("--data", type=Path, default=os.environ.get(VARIABLE), help=f"folder, default: ${VARIABLE}")
    parser.add_argument("--cases", type=Path, default=ROOT / "tests" / "verify" / "cases.txt")
    parser.add_argument("--package", type=Path, default=ROOT / "trl_grpo_rewards", help="folder of the package")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.data is None:
        print(f"No data: only {options.cases.name} is judged. Pass --data, or set {VARIABLE}; see CONTRIBUTING.md.")
    PACKAGE, ROWS = options.package.resolve(), read_rows(options.data, options.cases)
    _, before, modules = judge_without(None)
    if before is None:
        sys.exit(f"{PACKAGE} cannot judge the cases. Run the tests of the package first.")
    used = sorted(name for name in modules if name.split(".")[0] in FOLDERS and find_path(name).is_file())
    chosen = [name for name in used if options.module is None or f".{name}".endswith(f".{options.module}")]
    if not chosen:
        sys.exit(f"--module must be one of {', '.join(used)}; got {options.module}.")
    rules = [rule for name in chosen for rule in find_rules(name, find_path(name).read_text())]
    print(f"{len(rules)} rules, {sum(map(len, before.values()))} verdicts.", flush=True)
    if not options.json:
        BEFORE = [before[place] for place in range(len(ROWS))]
    found = []
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number, (rule, verdicts, _) in enumerate(pool.imap(judge_without, rules), 1):
            found.append((rule, count_changes(verdicts, before)))
            if sys.stderr.isatty():
                print(f"\r{number} of {len(rules)}", end="", file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(rule) | {"changes": changes} for rule, changes in found], indent=1))
    report(found)


if __name__ == "__main__":
    main()
