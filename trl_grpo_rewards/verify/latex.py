"""One spelling for the many that LaTeX has. Every function reads its text once or a fixed number of times."""

import re


SYMBOLS = str.maketrans(
    {
        **dict.fromkeys("−–—", "-"),
        **{"×": "\\times ", "·": "\\cdot ", "÷": "/", "±": "\\pm ", "√": "\\sqrt ", "°": "^{\\circ}", "∞": "\\infty "},
        **{"≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in "},
        **{"∅": "\\emptyset ", "π": "\\pi ", "θ": "\\theta ", "²": "^{2}", "³": "^{3}", "½": "\\frac{1}{2}"},
        **dict.fromkeys("\u00a0\u2009\u202f\t\n\r", " "),
        **dict.fromkeys("\u200b\u2060\ufeff", None),
    }
)
DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
SIMPLE = re.compile(r"[A-Za-z0-9+-](?: ?[A-Za-z0-9])*")  # has one spelling already
LOOKS = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|color\{[^{}]*\}|textcolor\{[^{}]*\}|hspace\{[^{}]*\})"
    r"(?![A-Za-z])"
)
SPACES = re.compile(r"(?<!\\)\\[,;:> ]|\\q?quad(?![A-Za-z])|(?<!\\)~")
NO_SPACE = re.compile(r"(?<!\\)\\!\s*|(?<=\d)\{,\}(?=\d)")
FRACTION = re.compile(r"\\[dtc]?frac(?![A-Za-z])")
SHORT_FRACTION = re.compile(r"\\frac *(?:\{([^{}]*)\}|(\d)) *(?:\{([^{}]*)\}|(\d))")
SHORT_ROOT = re.compile(r"\\sqrt *([0-9A-Za-z])")
ANGLES = ((re.compile(r"\\langle(?![A-Za-z])"), "("), (re.compile(r"\\rangle(?![A-Za-z])"), ")"))
EMPTY_SET = re.compile(r"\\varnothing(?![A-Za-z])|\\O(?![A-Za-z])|\\\{ *\\\}")
DOUBLED = re.compile(r"\\\\(?=[A-Za-z({\[])")
LOST_ROW = re.compile(r"(?<!\\)\\(?=[-\d])")  # `\\` that was unescaped once too often
RELATION = re.compile(r" *(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z])) *")
WORD_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname) ?\{([^{}]*)\}")
SPACE_AT_SYMBOL = re.compile(r" ?([^\w\s\\]) ?")
LISTED = re.compile(r"(?<=\d) ?, (?=[-+]?\d)")  # of "1, 234" and "1,234" the one is a list
GROUPED = re.compile(r"\d,\d{3}(?!\d)")
BRACED_LETTER = re.compile(r"([_^])\{(\w)\}")


def undelimited(text: str) -> str:
    """The text without the dollars or brackets around the whole of it."""
    text = text.strip()
    for opening, closing in DELIMITERS:
        inside = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inside and closing not in inside.replace("\\$", ""):
            return inside.strip()
    return text


def tidy(text: str) -> str:
    r"""The text as LaTeX in one spelling: no delimiters around it or sizes in it, `\frac{1}{2}` for `\dfrac12`."""
    if SIMPLE.fullmatch(text):
        return text
    text = undelimited(text.strip().strip("*").rstrip(".")).translate(SYMBOLS)
    if "\\" in text:
        if "\\\\" in text and "&" not in text and "\\begin" not in text:
            text = DOUBLED.sub(r"\\", text)
        elif "\\begin" in text:
            text = LOST_ROW.sub(r"\\\\", text)
        text = SPACES.sub(" ", NO_SPACE.sub("", LOOKS.sub("", text)))
        text = SHORT_ROOT.sub(r"\\sqrt{\1}", FRACTION.sub(r"\\frac", text))
        for angle, bracket in ANGLES:
            text = angle.sub(bracket, text)
        text = EMPTY_SET.sub(r"\\emptyset", SHORT_FRACTION.sub(r"\\frac{\1\2}{\3\4}", text))
    else:
        text = NO_SPACE.sub("", text)
    relation = RELATION.match(text)
    return text[relation.end() if relation else 0 :].strip()


def plain(text: str) -> str:
    """A tidy text without what only changes its looks: fonts, and spaces that separate nothing."""
    if SIMPLE.fullmatch(text):
        return text
    text = LISTED.sub(";", " ".join(WORD_COMMAND.sub(r"\1", text).split()))
    return BRACED_LETTER.sub(r"\1\2", SPACE_AT_SYMBOL.sub(r"\1", text)).strip()


def same(one: str, other: str) -> bool:
    """Whether two plain texts are the same."""
    return one == other or (
        one.replace(";", ",") == other.replace(";", ",") and not GROUPED.search(one.replace(";", ","))
    )
