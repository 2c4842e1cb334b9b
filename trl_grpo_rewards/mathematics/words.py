"""What words next to a value mean: a scale, a label, a reason, or something that changes the value."""

import re
from collections.abc import Sequence
from fractions import Fraction


CJK_UNITS = {
    **{
        "毫米": "mm",
        "厘米": "cm",
        "米": "m",
        "千米": "km",
        "公里": "km",
        "克": "g",
        "千克": "kg",
        "公斤": "kg",
        "吨": "ton",
    },
    **{
        "升": "l",
        "毫升": "ml",
        "秒": "s",
        "分钟": "min",
        "分": "min",
        "小时": "h",
        "时": "h",
        "天": "day",
        "日": "day",
    },
    **{"周": "week", "月": "month", "年": "year", "元": "yuan", "度": "°"},
}
CJK_MEASURES = {*"个只人次种名本张条件支辆间棵颗粒块头匹座台位份组对双套场岁道题步页"}
"""Chinese words for units, and those that only count what there is. Others may change the value."""
SCALES = {
    **{"dozen": 12, "score": 20, "gross": 144, "hundred": 10**2, "thousand": 10**3, "lakh": 10**5, "million": 10**6},
    **{
        "crore": 10**7,
        "billion": 10**9,
        "trillion": 10**12,
        "十": 10,
        "百": 10**2,
        "千": 10**3,
        "万": 10**4,
        "亿": 10**8,
    },
}
"""Words that multiply the number before them."""

ORDINALS = {"th", "st", "nd", "rd"}

CHANGING = {
    *"""
    a about all cannot can could might isn wasn aren doesn don didn hardly product difference alternatively an and any around at below between both but by choose cubed divided double doubtful each
    either else equal every except factorial false fewer for from greater guess half halves hundreds if incorrect
    infinite infinitely instead is isn least less many maybe minus mod modulo more most multiplied negative neither never
    no none nope nor not only opposite or other over perhaps plus possibly quarter quarters remainder than then thousands
    to too triple twice under undefined unless unlikely up versus vs when where which with within without wrong zero
    tens tenth tenths third thirds fourth fourths fifth fifths sixth sixths seventh sevenths eighth eighths ninth ninths
    hundredth hundredths thousandth thousandths millions billions trillions dozens scores
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety squared base through permille permil mil mils mill bil factor
    exponent power reciprocal inverse unknown invalid approximately roughly impossible extraneous myriad out
    """.split()
}
"""Words that change what the number before them means, deny it, or name a second one."""

LABELS = {
    *"""exactly only precisely answer ans final so thus hence therefore then the total sum result value solution max maximum min minimum option
    choice is are of we get have it equals a final""".split()
}
"""Words that may stand before a value without a colon or a verb."""

LABEL_ENDS = {"is", "are", "equals", "equal", "be", ":"}
APPROXIMATELY = {"approximately", "approx", "about", "roughly", "around"}
ASIDES = {"because", "since"}
COMMA_ASIDES = {"so", "which", "as", "that", "where", "i.e", "not"}
CONDITIONS = {"k", "n", "all", "any", "every", "each", "integer", "integers", "some", "real"}


CJK_LABEL = re.compile(r"(?:[^不非没无未]*(?:是|为|等于|得|选|约|共|即)|答案|答|解|所以|因此|则|故)$")
"""Chinese words that may stand before a value."""

NUMBER_WORDS = {
    **{word: number for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen""".split())},
    **{word: 10 * number for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)},
}  # fmt: skip
NEGATIVE_WORDS = {"negative", "minus"}

SUBJECTS = {
    *"""a an the there is are it this has have exist exists real equation equations system problem limit series sequence
    integral derivative sum to""".split()
}
"""Words that do not change whether something exists or converges."""

STATES: dict[tuple[str, ...], tuple[str, ...]] = {
    **dict.fromkeys(
        [("no", "solution"), ("no", "root"), ("none",), ("empty", "set"), ("null", "set")], ("no", "solution")
    ),
    **dict.fromkeys([("dne",), ("does", "not"), ("doe", "not"), ("doesn", "t")], ("does", "not", "exist")),
    **dict.fromkeys([("diverge",), ("divergent",)], ("diverges",)),
    **dict.fromkeys([("converge",), ("convergent",)], ("converges",)),
    **dict.fromkeys(
        [("infinitely", "many"), ("infinitely", "many", "solution"), ("infinite", "solution")], ("infinite",)
    ),
}
GENERIC_NOUNS = {
    *"function number integer triangle quadrilateral polygon angle line curve matrix sequence series value".split()
}
"""Nouns that an answer may add to an adjective: `an odd function` answers `odd`."""


def is_label(word: str) -> bool:
    return word in LABELS or CJK_LABEL.match(word) is not None


def find_number_word(words: Sequence[str]) -> int | None:
    """Return the number that words such as `twenty` and `one` are, or None."""
    total = 0
    for word in words:
        if word in NUMBER_WORDS:
            total += NUMBER_WORDS[word]
        elif word in SCALES and total:
            total *= SCALES[word]
        else:
            return None
    return total if words else None


def normalize_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words without articles and plurals. Whether something exists or converges is said in one way."""
    rest = tuple(singularize(word) for word in words if word not in SUBJECTS)
    if rest in STATES:
        return STATES[rest]
    return tuple(singularize(word) for word in words if word not in ("a", "an", "the") and word not in ORDINALS)


def singularize(word: str) -> str:
    word = word.casefold()
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def find_scale(word: str) -> Fraction | None:
    """Return the number that a word such as `million` or `lakhs` multiplies by."""
    factor = SCALES.get(word.casefold(), SCALES.get(singularize(word)))
    return None if factor is None else Fraction(factor)
