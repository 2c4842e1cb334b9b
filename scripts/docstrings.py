"""Turn docstrings in TRL's style into Markdown for the documentation site."""

import re
from collections.abc import Callable

from latex2mathml.converter import convert


SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Example|Examples):$", re.MULTILINE)
TITLES = {"Args": "Arguments", "Example": "Examples"}
REFERENCE = re.compile(r"\[`([~\w.]+)`\](?!\()")
ENTRY = re.compile(r"^    (?=\S)", re.MULTILINE)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"\\\\\((.+?)\\\\\)|\$\$(.+?)\$\$|\$(\S(?:[^$\n]*\S)?)\$(?!\d)", re.DOTALL)


def split_summary(docstring: str) -> tuple[str, str]:
    """Split a docstring into its first paragraph and the rest."""
    summary, _, rest = docstring.partition("\n\n")
    return summary, rest


def render_entry(entry: str) -> str:
    """Return an argument, a return value or an error as an item of a list."""
    head, _, body = entry.strip().partition("\n")
    if named := re.fullmatch(r"(\*{0,2}\w+)( \(.+\))?:", head):
        head = f"**`{named[1]}`**{named[2] or ''}:"
    return f"- {head} {' '.join(body.split())}".rstrip()


def render_section(title: str, body: str, level: int) -> str:
    name = TITLES.get(title, title)
    top = f"{'#' * level} {name}\n\n" if level else f"**{name}**\n\n"
    if title.startswith("Example"):
        code = re.sub(r"^```python(?=\n>>>)", "```pycon", body.strip(), flags=re.MULTILINE)
        return top + re.sub(r"\n+```$", "\n```", code, flags=re.MULTILINE) + "\n\n"
    indented = re.match(r"(?:(?: {4}.*)?\n)*(?: {4}.*)?", body)
    entries = [entry for entry in ENTRY.split(indented[0]) if entry.strip()]
    return top + "\n".join(map(render_entry, entries)) + f"\n\n{body[indented.end() :].strip()}\n\n"


def render_docstring(docstring: str, link: Callable[[str], str], level: int = 0) -> str:
    """Return a docstring as Markdown. References such as `~trl.GRPOConfig` become links. Level 0 has bold headings."""
    text, *sections = SECTION.split(docstring)
    parts = [text.strip() + "\n\n" if text.strip() else ""]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        parts.append(render_section(title, body, level))
    return REFERENCE.sub(lambda found: link(found[1]), "".join(parts))


def escape_math(text: str) -> str:
    """Turn the formulas outside of code into MathML, which browsers show without a script."""

    def render(found: re.Match[str]) -> str:
        inline = found[1] or found[3]
        formula = " ".join((inline or found[2]).split()).replace(r"\_", "_")
        return f'<span class="formula">{convert(formula, display="inline" if inline else "block")}</span>'

    parts = CODE.split(text)
    return "".join(part if place % 2 else MATH.sub(render, part) for place, part in enumerate(parts))
