"""Spellings that mean the same: Unicode signs, synonyms of commands, and commands that only change how a text looks."""

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Any


def read_spellings(table: str) -> dict[str, str]:
    """Return the first word of each entry for each of its other words. Two spaces or a new line are between entries."""
    entries = re.split(r"\s{2,}", table.strip())
    return {other: first for first, *others in map(str.split, entries) for other in others}


SPELLING_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("spellings.toml").read_text(encoding="utf-8"))
GREEK: list[str] = SPELLING_TABLES["greek"].split()
GREEK_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", GREEK, strict=True))
SIGN_COMMANDS = {
    **read_spellings(SPELLING_TABLES["signs"]),
    **{"℃": "^\\circ C", "℉": "^\\circ F", "或": " or ", "和": " and "},
    **{letter: f"\\{name} " for letter, name in [*GREEK_LETTERS.items(), ("ς", "sigma")]},
    **{letter.upper(): f"\\{name.capitalize()} " for letter, name in GREEK_LETTERS.items()},
    **dict.fromkeys("\u200b\u2060\ufeff\u200e\u200f", ""),
}
SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
SUBSCRIPT = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
SYNONYMS = read_spellings(SPELLING_TABLES["commands"])
FONTS = {command: font for font, commands in SPELLING_TABLES["fonts"].items() for command in commands.split()}
DROPPED, WITHOUT_CONTENT = ({*SPELLING_TABLES[name].split()} for name in ("dropped", "without_content"))
SEPARATORS = {*r"\qquad \hspace \newline".split()}

PATTERN_PARTS = {  # parts of patterns: with or without braces, what may stand alone, and what only in them
    name: rf"(?:({one})|\{{({one}|{several})\}})"
    for name, one, several in (
        ("<INDEX>", r"\w", r"\w{2,4}"),
        ("<LARGE>", "[n3-9]", r"\d{2,4}"),
        ("<DIGITS>", r"\d", r"\d{2,4}"),
    )
}
REWRITTEN = {
    re.sub("<[A-Z]+>", lambda part: PATTERN_PARTS[part[0]], pattern): plain
    for pattern, plain in SPELLING_TABLES["patterns"]
}
IS_REWRITTEN = re.compile("|".join(REWRITTEN))
PREFIXED = {"x": 16, "o": 8, "b": 2}  # bases of numbers as programs write them: `0xA3`


def normalize_signs(text: str) -> str:
    """Return a text with LaTeX in place of Unicode signs and without math delimiters."""
    if not text.isascii():
        text = SUPERSCRIPT.sub(lambda found: f"^{{{found[0].translate(SUPERSCRIPTS)}}}", text)
        text = SUBSCRIPT.sub(lambda found: f"_{{{found[0].translate(SUBSCRIPTS)}}}", text)
        text = "".join(sign if sign <= "\x7f" else widen(sign) for sign in text)
    if IS_REWRITTEN.search(text):
        for pattern, plain in REWRITTEN.items():
            text = re.sub(pattern, plain, text)
    if "\\\\" in text and "&" not in text and "\\begin" not in text:
        text = re.sub(r"\\\\(?=[A-Za-z({\[])", r"\\", text)  # escaped once too often
    if "$" in text:
        text = drop_dollars(text)
    return re.sub(
        r"(?<![\w.])0([xob])([\dA-Fa-f]+)(?!\w)", lambda found: f"{found[2].upper()}_{{{PREFIXED[found[1]]}}}", text
    )


def drop_dollars(text: str) -> str:
    """Return a text without the dollars around mathematics. Others are a currency."""
    text = re.sub(r"\bUS ?(?=\\?\$)", "", text)
    parts = re.split(r"(?<!\\)\$+", text)
    if len(parts) % 2 == 0:
        return text
    return " ".join(part if number % 2 else set_upright(part) for number, part in enumerate(parts))


def set_upright(text: str) -> str:
    """Return what stands outside of dollars as text, if it has words or letters: `$5$ m` is five meters."""
    words = text.strip()
    return f" \\text{{ {words} }} " if re.fullmatch(r"[A-Za-z./ ]+", words) else f" {text} "


def widen(letter: str) -> str:
    """Return a sign as LaTeX, and a full-width, bold or otherwise styled letter as the usual letter."""
    if "①" <= letter <= "⑳":
        return letter
    plain = letter if letter in SIGN_COMMANDS else unicodedata.normalize("NFKC", letter)
    if "⁄" in plain[1:]:  # ⅜
        above, _, below = plain.partition("⁄")
        return f"\\frac{{{above}}}{{{below}}}"
    plain = SIGN_COMMANDS.get(plain, plain if len(plain) == 1 else letter)
    if plain.startswith(("\\", "^\\")):
        return f"{plain} "
    return plain


def skip_group(text: str, position: int) -> int:
    """Return the position after the group in braces, or after the character, that follows a command."""
    while text[position : position + 1] == " ":
        position += 1
    if text[position : position + 1] != "{":
        return position
    depth = 0
    for place in range(position, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place + 1
    return len(text)
