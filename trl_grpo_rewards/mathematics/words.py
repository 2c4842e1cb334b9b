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
    **{word: number for number, word in enumerate("零一二三四五六七八九")}, "两": 2,
}  # fmt: skip
SCALES = {word: number for number, words in {  # words that multiply the number before them
    12: "dozen dutzend docena douzaine dozzina dozzine dúzia дюжина дюжин lusin dazeni دزينة दर्जन ডজন డజను โหล 다스 ダース",
    10: "十", 20: "score", 144: "gross", 10**2: "hundred hundert cien cientos cento сотня сотен ratus مئة सौ শত ร้อย 百 백",
    10**3: """thousand tausend mil mille mila milliers тысяча тысячи тысяч ribu elfu ألف آلاف हज़ार हजार হাজার వేలు వేల
        พัน 千 천""",
    10**4: "หมื่น 万 萬 만", 10**5: "lakh लाख লাখ লক্ষ లక్ష แสน", 10**7: "crore करोड़ কোটি కోటి", 10**8: "亿 億 억",
    10**6: """million millionen millón millones milione milioni milhão milhões миллион миллиона миллионов juta مليون
        ملايين ล้าน""",
    10**9: "billion milliard milliarde milliarden miliardo miliardi miliar миллиард миллиарда миллиардов",
    10**12: "trillion",
}.items() for word in words.split()}  # fmt: skip

FRACTIONS = {  # words that divide the number before them. They have an `s` after numbers other than one.
    **{"half": 2, "halves": 2, "半": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7},
    **{"eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100, "thousandth": 1000},
}

ROLES: dict[str, str] = {  # the words of each role. A word may have several.
    "numeral": f"""{" ".join(NUMBERS)} {" ".join(f"{word} {word}s" for word in FRACTIONS)} tens dozens scores hundreds
        thousands millions billions trillions mil mill bil myriad double twice triple many infinite infinitely""",
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

ROLES_OF: dict[str, set[str]] = {}
for role, words in ROLES.items():
    for word in words.split():
        ROLES_OF.setdefault(word, set()).add(role)

CHANGING = {"numeral", "operation", "comparison", "negation", "hedge", "alternative", "function word"}
"""Roles of words that change what the number before them means, deny it, or name a second one."""

FOREIGN = {
    *"""mindestens höchstens mehr weniger über unter oder nicht kein keine doppelt doppelte halb halbe hälfte einhalb
    drittel viertel mal ungefähr falsch negativ hunderte tausende billionen más menos mínimo máximo veces doble
    mitad medio tercio tercios ninguno negativo decenas centenares billones pas moins environ double doubles
    moitié demi demie tiers fois aucun négatif dizaines centaines non più meno circa almeno doppio metà mezzo
    terzi volte decine centinaia mais não dobro metade meio terço terços vezes dezenas centenas bilhões lebih
    kurang bukan tidak atau setidaknya paling minimal maksimal setengah sepertiga kali puluh zaidi angalau chini
    nusu mara sio hapana mia не либо или более больше менее меньше минимум максимум крайней половина треть трети
    раз около десятков неверно أو أكثر أقل ليس لا نصف ثلث ربع ضعف مرات على مليار या अधिक ज़्यादा कम नहीं आधा तिहाई
    गुना अरब বেশি কম কমপক্ষে অন্তত না নয় অর্ধেক গুণ లేదా ఎక్కువ తక్కువ కనీసం కాదు సగం రెట్లు కోట్లు లక్షలు""".split()
}
FOREIGN_PARTS = re.compile(  # parts of words that do so where words are written without spaces
    "[十百千万萬亿億兆零一二三四五六七八九两半多余餘几幾数以上下内內外不非沒没無无未否错錯误假舍捨分之的或和与與至少超过過約约左右近差减加乘除方负負倍成折打違]"
    "|ない|より|らい|이상|이하|이내|미만|초과|최소|절반|아니|않|정도|보다|또는|[천만억조배]$|หรือ|กว่า|ไม่|ครึ่ง|เท่า|น้อย|ขึ้นไป|พัน|หมื่น|แสน|ล้าน"
)

CJK_LABEL = re.compile(r"(?:[^不非没无未]*(?:是|为|等于|得|选|约|共|即)|答案|答|解|所以|因此|则|故)$")
SUBJECTS = {  # words that do not change whether something exists or converges
    *"""the there is are it this has have exist exists real equation equations system problem limit series sequence
    integral derivative sum to""".split()
}

STATES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(said.split()): tuple(usual.split())
    for usual, variants in {
        "no solution": ["no solution", "no root", "none", "empty set", "null set", "无解"],
        "does not exist": ["dne", "doe not", "doesn t"],
        "diverges": ["diverge", "divergent"],
        "converges": ["converge", "convergent"],
        **{"是": ["正确", "对"], "否": ["不是", "错误", "错"], "even": ["偶函数"], "odd": ["奇函数"]},
        "infinity": ["infinite", "infinitely many", "infinitely many solution", "infinite solution"],
    }.items()
    for said in variants
}
SHORT_WORDS = {word for word in (*ROLES_OF, *(word for said in STATES for word in said)) if len(word) == 3}
SHORT_WORDS |= {*"or no is of if to an so yes odd red men nan".split()}
"""Words of two or three letters. Other bare letters of this length are products of variables, as `at` and `by` may be."""

GENERIC_NOUNS = {  # nouns that an answer may add to an adjective: `an odd function` answers `odd`
    *"function number integer triangle quadrilateral polygon angle line curve matrix sequence value".split()
}


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
    if (text := "".join(words)) > "\u2e7f":
        whole, _, part = text.rpartition("分之")  # 百分之三十
        if whole:
            numbers = find_number_word(part), find_number_word(whole)
            return numbers[0] / numbers[1] if numbers[0] is not None and numbers[1] else None
        words = text
    below = FRACTIONS.get(words[-1], FRACTIONS.get(words[-1].removesuffix("s"))) if len(words) > 1 else None
    if below is not None:
        above = find_number_word(words[:-1])
        is_one = above == 1
        return above / below if above is not None and is_one != words[-1].endswith("s") else None
    total = 0
    for word in words:
        if word in NUMBERS:
            total += NUMBERS[word]
        elif word in SCALES and (total or word > "\u2e7f"):
            last = total if SCALES[word] % 10 else total % SCALES[word]  # one thousand two hundred
            total += (last or 1) * SCALES[word] - last
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
    factor = SCALES.get(word.casefold(), SCALES.get(singularize(word)))
    return None if factor is None else Fraction(factor)
