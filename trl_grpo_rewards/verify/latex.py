"""One spelling for LaTeX that can be written in many ways. Each function reads its text a fixed number of times."""

import re

from .boxes import read_braced


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
SIMPLE = re.compile(r"[A-Za-z0-9+-](?: ?[A-Za-z0-9])*")  # needs no normalization
SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
SIZE_COMMANDS = "tiny|small|normalsize|large|Large|LARGE|huge|Huge|displaystyle|textstyle|scriptstyle|limits"
LAYOUT_COMMAND = re.compile(
    rf"\\(?:left|right|[bB]igg?[lr]?|{SIZE_COMMANDS}|phantom\{{\}}|color\{{[^{{}}]*\}}|textcolor\{{[^{{}}]*\}}|hspace\{{[^{{}}]*\}})"
    r"(?![A-Za-z])"
)
SPACE_COMMAND = re.compile(r"(?<!\\)\\[,;:> ]|\\q?quad(?![A-Za-z])|(?<!\\)~")
QUAD_BETWEEN_DIGITS = re.compile(r"(?<=\d) *\\q?quad *(?=\d)")
NO_SPACE = re.compile(r"(?<!\\)\\!\s*|(?<=\d)\{,\}(?=\d{3}(?!\d))")
FRACTION_COMMAND = re.compile(r"\\[dtc]?frac(?![A-Za-z])")
SHORT_FRACTION = re.compile(r"\\frac *(?:\{([^{}]*)\}|(\d)) *(?:\{([^{}]*)\}|(\d))")
SHORT_BINOMIAL = re.compile(r"\\[dt]?binom *(\d) *(\d)")
SHORT_POWER = re.compile(r"\^ *(-\d+)")
BLACKBOARD_LETTER = re.compile(r"\\mathbb *([A-Z])")
UNION = re.compile(r"(?<=[)\]]) *U *(?=[(\[])")
SHORT_ROOT = re.compile(r"\\sqrt *([0-9A-Za-z])")
BRACKETS = [
    (re.compile(rf"\\{name}(?![A-Za-z])"), bracket)
    for name, bracket in {"langle": "(", "rangle": ")", "lbrace": r"\\{", "rbrace": r"\\}"}.items()
]
EMPTY_SET = re.compile(r"\\varnothing(?![A-Za-z])|\\O(?![A-Za-z])|\\\{ *\\\}")
DOUBLED_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z({\[])")
LOST_ROW = re.compile(r"(?<!\\)\\(?=[-\d])")  # `\\` that was unescaped once too often
LEADING_RELATION = re.compile(r" *(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z])) *")
FONTS = (
    "text|textbf|textit|textrm|textnormal|textsf|texttt|emph|mathrm|mathbf|mathit|mathsf|mathtt|boldsymbol|bm|underline"
    "|mbox|operatorname"
)
FONT = re.compile(rf"\\(?:{FONTS}) ?(?=\{{)")
WORD_COMMAND = re.compile(r"\\(?:" + FONTS + r") ?\{([^{}]*)\}")
SPACE_AT_SYMBOL = re.compile(r" ?([^\w\s\\]) ?")
LIST_COMMA = re.compile(r"(?<=\d) ?, (?=[-+]?\d)")  # "1, 234" is a list, and "1,234" may be a number
GROUPED_DIGITS = re.compile(r"\d,\d{3}(?!\d)")
COMMAND = re.compile(r"\\[A-Za-z]+")
BRACED_LETTER = re.compile(r"([_^])\{(\w)\}")


def strip_delimiters(text: str) -> str:
    """Return the text without the math delimiters that enclose all of it."""
    text = text.strip()
    for opening, closing in DELIMITERS:
        inside = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inside and closing not in inside.replace("\\$", ""):
            return inside.strip()
    return text


def normalize_latex(text: str) -> str:
    r"""Return LaTeX in one spelling: without delimiters and size commands, and with `\frac{1}{2}` for `\dfrac12`."""
    if SIMPLE.fullmatch(text):
        return text
    text = text.strip().strip("*`").rstrip(" ,;~\\")
    text = strip_delimiters(text[:-1] if text.endswith(".") and not text.endswith("..") else text).translate(SYMBOLS)
    text = SHORT_POWER.sub(
        r"^{\1}", SUPERSCRIPT.sub(lambda match: f"^{{{match[0].translate(SUPERSCRIPT_DIGITS)}}}", text)
    )
    if "\\" in text:
        if "\\\\" in text and "&" not in text and "\\begin" not in text:
            text = DOUBLED_BACKSLASH.sub(r"\\", text)
        elif "\\begin" in text:
            text = LOST_ROW.sub(r"\\\\", text)
        text = SPACE_COMMAND.sub(" ", QUAD_BETWEEN_DIGITS.sub(", ", NO_SPACE.sub("", LAYOUT_COMMAND.sub("", text))))
        text = BLACKBOARD_LETTER.sub(r"\\mathbb{\1}", SHORT_BINOMIAL.sub(r"\\binom{\1}{\2}", text))
        text = SHORT_ROOT.sub(r"\\sqrt{\1}", FRACTION_COMMAND.sub(r"\\frac", text))
        for name, bracket in BRACKETS:
            text = name.sub(bracket, text)
        text = EMPTY_SET.sub(r"\\emptyset", SHORT_FRACTION.sub(r"\\frac{\1\2}{\3\4}", text))
    else:
        text = NO_SPACE.sub("", text)
    text = UNION.sub(r"\\cup ", text.replace("{,}", ","))
    relation = LEADING_RELATION.match(text)
    return unwrap_font(text[relation.end() if relation else 0 :].strip())


def unwrap_font(text: str) -> str:
    """Return the text without the font commands that enclose all of it."""
    for _ in range(3):
        font = FONT.match(text)
        inside = read_braced(text[font.end() :]) if font else None
        if font is None or inside is None or font.end() + len(inside) + 2 != len(text):
            break
        text = strip_delimiters(inside)
    return text


def strip_formatting(text: str) -> str:
    """Return normalized LaTeX without its formatting: fonts, and spaces that separate nothing."""
    if SIMPLE.fullmatch(text):
        return text
    text = LIST_COMMA.sub(";", " ".join(WORD_COMMAND.sub(r"\1", text).split()))
    return BRACED_LETTER.sub(r"\1\2", SPACE_AT_SYMBOL.sub(r"\1", text)).strip()


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts without formatting are the same, apart from `,` or `;` between their items."""
    return one == other or (
        one.replace(";", ",") == other.replace(";", ",") and not GROUPED_DIGITS.search(one.replace(";", ","))
    )
