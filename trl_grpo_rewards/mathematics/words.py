"""What words mean next to a value: one table of words with their roles."""

import re
from collections.abc import Sequence
from fractions import Fraction


NUMBERS = {
    **{word: number for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen""".split())},
    **{word: 10 * number for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)},
}  # fmt: skip
SCALES = {
    **{"dozen": 12, "score": 20, "gross": 144, "hundred": 10**2, "thousand": 10**3, "lakh": 10**5, "million": 10**6},
    **{"crore": 10**7, "billion": 10**9, "trillion": 10**12},
    **{"十": 10, "百": 10**2, "千": 10**3, "万": 10**4, "亿": 10**8},
}
"""Words that multiply the number before them."""

FRACTIONS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
}
"""Words that divide the number before them. They have an `s` after numbers other than one."""

ROLES: dict[str, str] = {
    "numeral": f"""{" ".join(NUMBERS)} half halves third thirds fourth fourths quarter quarters fifth fifths sixth sixths
        seventh sevenths eighth eighths ninth ninths tenth tenths hundredth hundredths thousandth thousandths tens dozens
        scores hundreds thousands millions billions trillions mil mill bil myriad double twice triple many infinite
        infinitely""",
    "operation": """plus minus negative divided multiplied squared cubed factorial mod modulo remainder factor exponent
        power reciprocal inverse opposite product difference base by choose permille permil mils out""",
    "comparison": "at least most more less fewer greater over under up to above below between within through",
    "negation": """not no none nope nor never neither isn don cannot without wrong false incorrect
        impossible undefined unknown invalid extraneous hardly unlikely doubtful""",
    "hedge": "maybe perhaps possibly could might can guess",
    "rounding": "approximately approx about around roughly",
    "alternative": "or either else other instead except unless if when where alternatively versus vs but",
    "function word": "all and any each every both for from than then equal only which with",
    "label": """answer ans final so thus hence therefore then the total sum result value solution maximum min
        minimum option choice exactly only precisely of we get have is are equals""",
    "verb": "is are equals equal be :",
    "noun phrase": "equal every for which with",
    "reason": "because since",
    "reason after a comma": "so which as that where not",
    "quantifier": "k n all any every each some real",
    "ordinal": "th st nd rd",
    "minus": "negative minus",
}
"""The words of each role. A word may have several."""

ROLES_OF: dict[str, set[str]] = {}
for role, words in ROLES.items():
    for word in words.split():
        ROLES_OF.setdefault(word, set()).add(role)

CHANGING = {"numeral", "operation", "comparison", "negation", "hedge", "alternative", "function word"}
"""Roles of words that change what the number before them means, deny it, or name a second one."""

CJK_LABEL = re.compile(r"(?:[^不非没无未]*(?:是|为|等于|得|选|约|共|即)|答案|答|解|所以|因此|则|故)$")
"""Chinese words that may stand before a value."""

SUBJECTS = {
    *"""the there is are it this has have exist exists real equation equations system problem limit series sequence
    integral derivative sum to""".split()
}
"""Words that do not change whether something exists or converges."""

STATES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(said.split()): tuple(usual.split())
    for usual, variants in {
        "no solution": ["no solution", "no root", "none", "empty set", "null set"],
        "does not exist": ["dne", "doe not", "doesn t"],
        "diverges": ["diverge", "divergent"],
        "converges": ["converge", "convergent"],
        "infinity": ["infinite", "infinitely many", "infinitely many solution", "infinite solution"],
    }.items()
    for said in variants
}
SHORT_WORDS = {word for word in (*ROLES_OF, *(word for said in STATES for word in said)) if len(word) == 3}
SHORT_WORDS |= {*"or no is of if to an so yes odd red men nan".split()}
"""Words of two or three letters. Other bare letters of this length are products of variables, as `at` and `by` may be."""

GENERIC_NOUNS = {
    *"function number integer triangle quadrilateral polygon angle line curve matrix sequence value".split()
}
"""Nouns that an answer may add to an adjective: `an odd function` answers `odd`."""


ARTICLES = {"a", "an", "the"}
NO_NOUNS = ARTICLES | {*"is are was and or plus minus wins has only".split()}
"""Words before which an `A` is a name."""


def has_role(word: str, *roles: str) -> bool:
    return not ROLES_OF.get(word.casefold(), set()).isdisjoint(roles)


def changes(word: str) -> bool:
    """Whether a word changes the value that it stands next to, so that it is neither a unit nor what is counted."""
    return has_role(word, *CHANGING)


def is_label(word: str) -> bool:
    """Whether a word may stand before a value without a verb or a colon."""
    return has_role(word, "label") or CJK_LABEL.match(word) is not None


def find_number_word(words: Sequence[str]) -> Fraction | None:
    """Return the number that words such as `twenty` and `one`, or `three` and `quarters`, are, or None."""
    below = FRACTIONS.get(words[-1], FRACTIONS.get(words[-1].removesuffix("s"))) if len(words) > 1 else None
    if below is not None:
        above = find_number_word(words[:-1])
        is_one = above == 1
        return above / below if above is not None and is_one != words[-1].endswith("s") else None
    total = 0
    for word in words:
        if word in NUMBERS:
            total += NUMBERS[word]
        elif word in SCALES and total:
            total *= SCALES[word]
        else:
            return None
    return Fraction(total) if words else None


def normalize_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words without articles and plurals. Whether something exists or converges is said in one way."""
    rest = tuple(singularize(word) for word in words if word not in SUBJECTS)
    if rest in STATES:
        return STATES[rest]
    folded = [word.casefold() for word in words]
    return tuple(
        singularize(word)
        for word, said, after in zip(folded, words, [*folded[1:], ""], strict=True)
        if not (said in ARTICLES and after and after not in NO_NOUNS) and not has_role(word, "ordinal")
    )


def singularize(word: str) -> str:
    word = word.casefold()
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def find_scale(word: str) -> Fraction | None:
    """Return the number that a word such as `million` or `lakhs` multiplies by."""
    factor = SCALES.get(word.casefold(), SCALES.get(singularize(word)))
    return None if factor is None else Fraction(factor)
