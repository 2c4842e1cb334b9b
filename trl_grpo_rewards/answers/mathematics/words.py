"""What words mean next to a value, by the tables of `words.toml`."""

import re
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any


WORD_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
NUMBERS, SCALES, FRACTIONS = (
    {word: int(number) for number, words in WORD_TABLES[name].items() for word in words.split()}
    for name in ("numbers", "scales", "fractions")
)
FOREIGN, SUBJECTS, SHORT_WORDS, GENERIC_NOUNS = ({*words.split()} for words in WORD_TABLES["lists"].values())

ROLES_OF: dict[str, set[str]] = {
    word: {"numeral"} for word in (*NUMBERS, *FRACTIONS, *(f"{word}s" for word in FRACTIONS))
}
for role, words in WORD_TABLES["roles"].items():
    for word in words.split():
        ROLES_OF.setdefault(word, set()).add(role)

# Roles of words that change what the number before them means, deny it, or name a second one.
CHANGING = {"numeral", "operation", "comparison", "negation", "hedge", "alternative", "function word"}

FOREIGN_PARTS = re.compile(  # parts of words that do so where words are written without spaces
    "[十百千万萬亿億兆零一二三四五六七八九两半多余餘几幾数以上下内內外不非沒没無无未否错錯误假舍捨分之的或和与與至少超过過約约左右近差减加乘除方负負倍成折打違]"
    "|ない|より|らい|이상|이하|이내|미만|초과|최소|절반|아니|않|정도|보다|또는|[천만억조배]$|หรือ|กว่า|ไม่|ครึ่ง|เท่า|น้อย|ขึ้นไป|พัน|หมื่น|แสน|ล้าน"
)
CJK_LABEL = re.compile(r"(?:[^不非没无未]*(?:是|为|等于|得|选|约|共|即)|答案|答|解|所以|因此|则|故)$")

USUAL_STATES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(said.split()): tuple(usual.split()) for usual, variants in WORD_TABLES["states"].items() for said in variants
}
SHORT_WORDS |= {word for word in (*ROLES_OF, *(word for said in USUAL_STATES for word in said)) if len(word) == 3}
ARTICLES = {"a", "an", "the"}
NO_NOUNS = ARTICLES | {*"is are was and or plus minus wins has only".split()}  # words before which an `A` is a name


def has_role(word: str, *roles: str) -> bool:
    return not ROLES_OF.get(word.casefold(), set()).isdisjoint(roles)


def changes(word: str) -> bool:
    """Whether a word changes the value that it stands next to, so that it is neither a unit nor what is counted."""
    return has_role(word, *CHANGING) or word.casefold() in FOREIGN


def is_label(word: str) -> bool:
    """Whether a word may stand before a value without a verb or a colon."""
    return has_role(word, "label") or CJK_LABEL.match(word) is not None


def find_number_word(words: Sequence[str]) -> Fraction | None:
    """Return the number that words such as `twenty` and `one`, `three` and `quarters`, or `三十` are, or None."""
    text = "".join(words)
    if text <= "\u2e7f":
        return find_fraction(words)
    below, _, above = text.rpartition("分之")  # 百分之三十
    if not below:
        return find_fraction(text)
    part, whole = map(find_number_word, (above, below))
    return part / whole if part is not None and whole else None


def find_fraction(words: Sequence[str]) -> Fraction | None:
    """Return the number of words of which the last one may divide it: `three quarters`, but not `three quarter`."""
    last = ""
    if len(words) > 1:
        last = words[-1]
    whole = FRACTIONS.get(last, FRACTIONS.get(last.removesuffix("s")))
    if whole is None:
        return add_up(words)
    part = find_number_word(words[:-1])
    if part is None or (part == 1) == last.endswith("s"):
        return None
    return part / whole


def add_up(words: Sequence[str]) -> Fraction | None:
    total = 0
    for word in words:
        if word in NUMBERS:
            total += NUMBERS[word]
        elif word in SCALES and (total or word > "\u2e7f"):
            total = multiply_end(total, SCALES[word])
        else:
            return None
    return Fraction(total) if words else None


def multiply_end(total: int, scale: int) -> int:
    """Multiply what is smaller than a scale, or 1 if nothing is: `one thousand two` goes on with `hundred`."""
    end = total if scale % 10 else total % scale
    return total - end + (end or 1) * scale


def normalize_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words without articles and plurals. Whether something exists or converges is said in one way."""
    rest = tuple(singularize(word) for word in words if word not in SUBJECTS)
    if rest in USUAL_STATES:
        return USUAL_STATES[rest]
    folded = [word.casefold() for word in words]
    kept = []
    for word, said, after in zip(folded, words, [*folded[1:], ""], strict=True):
        is_article = said in ARTICLES and after and after not in NO_NOUNS
        if not is_article and not has_role(word, "ordinal"):
            kept.append(singularize(word))
    return tuple(kept)


def singularize(word: str) -> str:
    word = word.casefold()
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def find_scale(word: str) -> Fraction | None:
    factor = SCALES.get(word.casefold(), SCALES.get(singularize(word)))
    return None if factor is None else Fraction(factor)
