r"""Units and the nouns that say what is counted: `\text{km/h}`, `m^2`, `\$`, `apples`."""

import re
from pathlib import Path


Unit = tuple[tuple[str, int], ...]  # names of units and nouns with their powers, in the order of the names
TABLE = Path(__file__).with_name("units.txt").read_text(encoding="utf-8").partition("\n\n")[2]
UNIT_PREFIXES = dict(k="kilo", c="centi", m="milli", n="nano", d="deci", M="mega", G="giga") | {"\\mu": "micro"}
UNIT_OF: dict[str, Unit] = {}
# Chinese, Japanese and Korean words that only count what there is.
COUNTERS = "个個只隻人次种種名本冊册张張条件支辆间棵颗粒块头匹座台位份组对双套场岁道题步页개명つ枚匹"

SMALLER_UNITS = {  # units that make one quantity together with the next smaller one
    ("h", "min"), ("min", "s"), ("ft", "in"), ("lb", "oz"), ("$", "cent"), ("°", "min"), ("day", "h"), ("year", "month"),
}  # fmt: skip

FEET_AND_INCHES: dict[str, Unit] = {"'": (("ft", 1),), "''": (("in", 1),)}  # if the other answer says so


def parse_unit(text: str) -> Unit:
    """Return a unit that is written as in the table: `km/h`, `kW*h`, `cm^3`."""
    above, _, below = text.partition("/")
    factors = [(factor, 1) for factor in above.split("*")]
    factors += [(factor, -1) for factor in below.split("*") if factor]
    powers = []
    for factor, sign in factors:
        name, _, power = factor.partition("^")
        powers.append((name, sign * int(power or 1)))
    return tuple(sorted(powers))


def add_unit(entry: str) -> None:
    """Add the spellings of an entry of the table: symbols, and nouns after a bar. Prefixes may stand before a name with `+`."""
    names, _, others = entry.partition("|")
    name, *symbols = names.split()
    base = name.rstrip("+")
    if not base[0].isalnum():
        symbols.append(base)
    nouns = others.split()
    if len(base) > 2 and base.isalpha():
        nouns.append(base)
    words = [form for noun in nouns for form in (noun, f"{noun}s")]
    UNIT_OF.update(dict.fromkeys((*symbols, *words), parse_unit(base)))
    if name != base:
        add_prefixed(base, symbols, words)


def add_prefixed(base: str, symbols: list[str], words: list[str]) -> None:
    for letter, prefix in UNIT_PREFIXES.items():
        unit = ((letter + base, 1),)
        for start, spellings in ((letter, symbols), (prefix, words), (prefix.capitalize(), words)):
            for spelling in spellings:
                UNIT_OF.setdefault(start + spelling, unit)


for entry in re.split(r" {2,}|\n", TABLE.strip()):
    add_unit(entry)
UNIT_NAMES = {name for unit in UNIT_OF.values() for name, _ in unit}
LETTER_UNITS = {spelling for spelling in UNIT_OF if len(spelling) == 1 and spelling.isalpha() and spelling.isascii()}
SHORT_SYMBOLS = {spelling for spelling in UNIT_OF if 2 <= len(spelling) <= 3 and spelling.isascii()}


def find_unit(word: str) -> Unit | None:
    """Return what a symbol or word means, or None for an unknown one. Case matters in symbols, such as `mW` and `MW`."""
    unit = UNIT_OF.get(word)
    if unit or len(word) <= 2:
        return unit
    return UNIT_OF.get(word.casefold())


def match_units(gold: Unit, answer: Unit) -> bool:
    """Return whether the unit of an answer is the gold answer's, where one of them may say more about what is counted."""
    gold, answer = (FEET_AND_INCHES.get(unit[0][0], unit) for unit in (gold, answer))
    measures = [{pair for pair in unit if pair[0] in UNIT_NAMES} for unit in (gold, answer)]
    if measures[0] or measures[1]:
        return measures[0] == measures[1]
    return bool({*gold} & {*answer})
