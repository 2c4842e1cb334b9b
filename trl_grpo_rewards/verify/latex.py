"""One spelling for the many that LaTeX has. Every function reads its text once or a fixed number of times."""

import re

from .boxes import group


SYMBOLS = str.maketrans(
    {
        **dict.fromkeys("−–—", "-"),
        **{"×": "\\times ", "·": "\\cdot ", "÷": "/", "±": "\\pm ", "√": "\\sqrt ", "°": "^{\\circ}", "∞": "\\infty "},
        **{"≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in "},
        **{
            "∅": "\\emptyset ",
            "π": "\\pi ",
            "θ": "\\theta ",
            "½": "\\frac{1}{2}",
            "¼": "\\frac{1}{4}",
            "¾": "\\frac{3}{4}",
        },
        **{"⅓": "\\frac{1}{3}", "⅔": "\\frac{2}{3}"},
        **{"′": "'"},
        **dict.fromkeys("\u00a0\u2009\u202f\t\n\r", " "),
        **dict.fromkeys("\u200b\u2060\ufeff", None),
    }
)
DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
SIMPLE = re.compile(r"[A-Za-z0-9+-](?: ?[A-Za-z0-9])*")  # has one spelling already
SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
SIZES = "tiny|small|normalsize|large|Large|LARGE|huge|Huge|displaystyle|textstyle|scriptstyle|limits"
LOOKS = re.compile(
    rf"\\(?:left|right|[bB]igg?[lr]?|{SIZES}|phantom\{{\}}|color\{{[^{{}}]*\}}|textcolor\{{[^{{}}]*\}}|hspace\{{[^{{}}]*\}})"
    r"(?![A-Za-z])"
)
SPACES = re.compile(r"(?<!\\)\\[,;:> ]|\\q?quad(?![A-Za-z])|(?<!\\)~")
APART = re.compile(r"(?<=\d) *\\q?quad *(?=\d)")
NO_SPACE = re.compile(r"(?<!\\)\\!\s*|(?<=\d)\{,\}(?=\d{3}(?!\d))")
FRACTION = re.compile(r"\\[dtc]?frac(?![A-Za-z])")
SHORT_FRACTION = re.compile(r"\\frac *(?:\{([^{}]*)\}|(\d)) *(?:\{([^{}]*)\}|(\d))")
SHORT_BINOMIAL = re.compile(r"\\[dt]?binom *(\d) *(\d)")
SHORT_POWER = re.compile(r"\^ *(-\d+)")
SET_OF = re.compile(r"\\mathbb *([A-Z])")
UNION = re.compile(r"(?<=[)\]]) *U *(?=[(\[])")
SHORT_ROOT = re.compile(r"\\sqrt *([0-9A-Za-z])")
BRACKETS = [
    (re.compile(rf"\\{name}(?![A-Za-z])"), bracket)
    for name, bracket in {"langle": "(", "rangle": ")", "lbrace": r"\\{", "rbrace": r"\\}"}.items()
]
EMPTY_SET = re.compile(r"\\varnothing(?![A-Za-z])|\\O(?![A-Za-z])|\\\{ *\\\}")
DOUBLED = re.compile(r"\\\\(?=[A-Za-z({\[])")
LOST_ROW = re.compile(r"(?<!\\)\\(?=[-\d])")  # `\\` that was unescaped once too often
RELATION = re.compile(r" *(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z])) *")
FONTS = (
    "text|textbf|textit|textrm|textnormal|textsf|texttt|emph|mathrm|mathbf|mathit|mathsf|mathtt|boldsymbol|bm|underline"
    "|mbox|operatorname"
)
FONT = re.compile(rf"\\(?:{FONTS}) ?(?=\{{)")
WORD_COMMAND = re.compile(r"\\(?:" + FONTS + r") ?\{([^{}]*)\}")
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
    text = text.strip().strip("*`").rstrip(" ,;~\\")
    text = undelimited(text[:-1] if text.endswith(".") and not text.endswith("..") else text).translate(SYMBOLS)
    text = SHORT_POWER.sub(r"^{\1}", SUPERSCRIPT.sub(lambda match: f"^{{{match[0].translate(DIGITS)}}}", text))
    if "\\" in text:
        if "\\\\" in text and "&" not in text and "\\begin" not in text:
            text = DOUBLED.sub(r"\\", text)
        elif "\\begin" in text:
            text = LOST_ROW.sub(r"\\\\", text)
        text = SPACES.sub(" ", APART.sub(", ", NO_SPACE.sub("", LOOKS.sub("", text))))
        text = SET_OF.sub(r"\\mathbb{\1}", SHORT_BINOMIAL.sub(r"\\binom{\1}{\2}", text))
        text = SHORT_ROOT.sub(r"\\sqrt{\1}", FRACTION.sub(r"\\frac", text))
        for name, bracket in BRACKETS:
            text = name.sub(bracket, text)
        text = EMPTY_SET.sub(r"\\emptyset", SHORT_FRACTION.sub(r"\\frac{\1\2}{\3\4}", text))
    else:
        text = NO_SPACE.sub("", text)
    text = UNION.sub(r"\\cup ", text.replace("{,}", ","))
    relation = RELATION.match(text)
    return unwrapped(text[relation.end() if relation else 0 :].strip())


def unwrapped(text: str) -> str:
    """The text without a font that is around the whole of it."""
    for _ in range(3):
        font = FONT.match(text)
        inside = group(text[font.end() :]) if font else None
        if inside is None or font.end() + len(inside) + 2 != len(text):
            break
        text = undelimited(inside)
    return text


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
