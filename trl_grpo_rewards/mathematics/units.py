r"""Units and the nouns that say what is counted: `\text{km/h}`, `m^2`, `\$`, `apples`."""

import re
from pathlib import Path


Unit = tuple[tuple[str, int], ...]  # names of units and nouns with their powers, in the order of the names
TABLE = Path(__file__).with_name("units.txt").read_text(encoding="utf-8").partition("\n\n")[2]
PREFIXES = dict(k="kilo", c="centi", m="milli", n="nano", d="deci", M="mega", G="giga") | {"\\mu": "micro"}
SPELLINGS: dict[str, Unit] = {}
# Chinese, Japanese and Korean words that only count what there is.
COUNTERS = "个個只隻人次种種名本冊册张張条件支辆间棵颗粒块头匹座台位份组对双套场岁道题步页개명つ枚匹"

PARTS = {  # units that make one quantity together with the next smaller one
    ("h", "min"), ("min", "s"), ("ft", "in"), ("lb", "oz"), ("$", "cent"), ("°", "min"), ("day", "h"), ("year", "month"),
}  # fmt: skip

MARKS: dict[str, Unit] = {"'": (("ft", 1),), "''": (("in", 1),)}  # feet and inches if the other answer says so


def parse_unit(text: str) -> Unit:
    """Return a unit that is written as in the table: `km/h`, `kW*h`, `cm^3`."""
    above, _, below = text.partition("/")
    factors = [(one, 1) for one in above.split("*")] + [(one, -1) for one in below.split("*") if one]
    return tuple(
        sorted((name, sign * int(power or 1)) for one, sign in factors for name, _, power in [one.partition("^")])
    )


def fill_spellings() -> None:
    for entry in re.split(r" {2,}|\n", TABLE.strip()):
        names, _, others = entry.partition("|")
        name, *symbols = names.split()
        base = name.rstrip("+")
        symbols += [] if base[0].isalnum() else [base]
        singular = [*others.split(), *([base] if len(base) > 2 and base.isalpha() else [])]
        words = [form for word in singular for form in (word, f"{word}s")]
        SPELLINGS.update(dict.fromkeys((*symbols, *words), parse_unit(base)))
        for letter, prefix in PREFIXES.items() if name != base else ():
            for start, spellings in ((letter, symbols), (prefix, words), (prefix.capitalize(), words)):
                for one in spellings:
                    SPELLINGS.setdefault(start + one, ((letter + base, 1),))


fill_spellings()
KNOWN = {name for unit in SPELLINGS.values() for name, _ in unit}
LETTERS = {spelling for spelling in SPELLINGS if len(spelling) == 1 and spelling.isalpha() and spelling.isascii()}
SHORT = {spelling for spelling in SPELLINGS if 2 <= len(spelling) <= 3 and spelling.isascii()}


def find_unit(word: str) -> Unit | None:
    """Return what a symbol or word means, or None for an unknown one. Case matters in symbols, such as `mW` and `MW`."""
    return SPELLINGS.get(word) or (SPELLINGS.get(word.casefold()) if len(word) > 2 else None)


def match_units(gold: Unit, answer: Unit) -> bool:
    """Return whether the unit of an answer is the gold answer's, where one of them may say more about what is counted."""
    gold, answer = (MARKS.get(unit[0][0], unit) for unit in (gold, answer))
    measures = [{pair for pair in unit if pair[0] in KNOWN} for unit in (gold, answer)]
    if measures[0] or measures[1]:
        return measures[0] == measures[1]
    return bool({*gold} & {*answer})
