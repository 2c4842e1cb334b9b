"""Traits: facts about a reward function that checks and the trainer need. They are declared when it is registered."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args, get_type_hints

from .options import format_annotation, has_type


# Of example completions.
WORKING = "First the question is read again, and then every step is worked out and looked over. "
LARGE = 64_000  # number of characters of a long text

ReadingKind: TypeAlias = Literal["whole", "any of several", "several", "in part", "not at all"]
"""How much of a value was read."""


class Reading(NamedTuple):
    """
    How a reward reads one value of a dataset column.

    Args:
        kind (`str`):
            How much was read: `"whole"`, `"any of several"` (several solutions, any of which is right), `"several"`
            (several answers in one solution), `"in part"` or `"not at all"`.
        value (`str`, *optional*):
            What was read. Equivalent values have the same reading.
        note (`str`, *optional*):
            What a user should know about this reading. [`check`] counts the values with the same note and shows the
            number in front of it, as in `"3.00% that only math-verify can read"`.
    """

    kind: ReadingKind
    value: str | None = None
    note: str | None = None


@dataclass
class Findings:
    """
    The findings of one check, or of a reward in the rows of a dataset.

    Args:
        title (`str`):
            What was checked. The check that calls a reward has its own.
        lines (`list[str]`):
            Results to read.
        warnings (`list[str]`):
            Problems that may be intended.
        faults (`list[str]`):
            Problems that cannot be intended. Each says what was expected, what was found and what to do.
        is_run (`bool`):
            Whether the check was run. If not, the only line says why.
        data (`dict`):
            Results as values, which the lines show as text: `attacks` or `dry_run`.
        hopeless (`str`):
            Why no completion can be tried on this dataset. Empty if completions can be tried.
    """

    title: str = ""
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    is_run: bool = True
    data: dict[str, Any] = field(default_factory=dict)
    hopeless: str = ""


ReadColumn: TypeAlias = Callable[[list[Any]], list[Reading]]  # for each value of a dataset column


class ContradictoryForms(ValueError):
    """Raised when no completion can have the forms that two rewards need."""


@dataclass(frozen=True)
class Form:
    r"""
    The form of a completion that earns a reward in full. Fields that are left out do not matter to the reward.

    Args:
        tags (`tuple[str]`, *optional*):
            Names of the tags that the completion consists of, in order.
        prefilled (`bool`, *optional*, defaults to `False`):
            Whether the chat template already opens the first tag.
        words (`tuple[str]`, *optional*):
            Texts that the completion must contain.
        without (`tuple[str]`, *optional*):
            Texts that the completion must not contain.
        choices (`str`, *optional*):
            Letters to choose the answer from.
        length (`tuple[int, str]`, *optional*):
            A length and its unit: `"tokens"`, `"words"` or `"chars"`.
        answer (`str`, *optional*):
            How the answer is written, with `{}` in its place. By default, it is written as `\boxed{...}`. Inside double
            quotes, it is written as in JSON.
        bare (`bool`, *optional*, defaults to `False`):
            Whether the completion is the answer alone, without any working.
    """

    tags: tuple[str, ...] = ()
    prefilled: bool = False
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    choices: str = ""
    length: tuple[int, Literal["tokens", "words", "chars"]] | None = None
    answer: str = ""
    bare: bool = False

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not has_type(value, part.type):
                raise TypeError(
                    f"Form needs {part.name} of the type {format_annotation(part.type)}; got {value!r}. Write, for example, "
                    f"Form(tags=('think',), length=(100, 'tokens'))."
                )
            object.__setattr__(self, part.name, tuple(value) if isinstance(value, list) else value)
        if self.answer and "{}" not in self.answer:
            raise ValueError(
                f"Form needs an answer that contains {{}} in the place of the answer; got {self.answer!r}. "
                f"Write, for example, answer='#### {{}}'."
            )

    def merge(self, other: "Form") -> "Form":
        """Return the form that satisfies both forms, or raise [`ContradictoryForms`]."""
        words = tuple(dict.fromkeys(self.words + other.words))
        without = tuple(dict.fromkeys(self.without + other.without))
        if both := {*words} & {*without}:
            raise ContradictoryForms(f"one needs the text {min(both)!r}, and another forbids it")
        tags = self._merge_tags(other)
        equal = {name: self._merge_equal(other, name) for name in ("choices", "length", "answer")}
        return Form(tags, self.prefilled or other.prefilled, words, without, bare=self.bare or other.bare, **equal)

    def _merge_tags(self, other: "Form") -> tuple[str, ...]:
        """Return the longer tags, with which the others must begin."""
        if self.tags and other.tags and self.prefilled != other.prefilled:
            raise ContradictoryForms(f"one expects the tag <{self.tags[0]}> to be open already, and another does not")
        tags = max(self.tags, other.tags, key=len)
        if tags[: len(self.tags)] != self.tags or tags[: len(other.tags)] != other.tags:
            raise ContradictoryForms(f"one needs the tags {self.tags}, and another {other.tags}")
        return tags

    def _merge_equal(self, other: "Form", name: str) -> Any:
        """Return the value of a field that must be equal if both forms have it."""
        one = getattr(self, name)
        another = getattr(other, name)
        if one and another and one != another:
            raise ContradictoryForms(f"one needs the {name} {one!r}, and another {another!r}")
        return one or another or one

    def write_answer(self, answer: str) -> str:
        if '"{}"' in self.answer:
            answer = json.dumps(answer, ensure_ascii=False)[1:-1]
        if self.answer:
            return self.answer.replace("{}", answer)
        return f"\\boxed{{{answer}}}"

    def wrap(self, working: str, final: str) -> str:
        """Return a completion with the working and the final part, inside the tags if there are any."""
        if not self.tags:
            return f"{working}\n{final}"
        first, *others = self.tags
        text = f"{'' if self.prefilled else f'<{first}>'}{working}</{first}>\n"
        if not others:
            return text + final
        between = "".join(f"<{name}>{working}</{name}>\n" for name in others[:-1])
        return f"{text}{between}<{others[-1]}>{final}</{others[-1]}>"

    def write(self, working: str, final: str, count: Callable[[str], int]) -> str:
        """Return a completion of this form. If the form has a length, the working is extended to reach it."""
        if any(word.casefold() in working.casefold() for word in self.without):
            working = ""
        if self.bare and not (self.tags or self.words or self.length):
            return final.replace(WORKING, working)
        working = " ".join([working.strip(), *self.words]).strip() or "."
        target, unit = self.length or (0, "tokens")
        size = {"tokens": count, "words": count_words, "chars": len}[unit]
        return self.stretch(working, final, target, size) if target else self.wrap(working, final)

    def stretch(self, working: str, final: str, target: int, size: Callable[[str], int]) -> str:
        """Return a completion whose working is cut or extended to the length of the form."""
        text = self.wrap(working, final)
        if size(text) > target:
            working = "."
            text = self.wrap(working, final)
        while size(text) < target and len(working) < LARGE:
            working += " so" * max(1, (target - size(text)) // 6)
            text = self.wrap(working, final)
        return text


def count_words(text: str) -> int:
    return len(text.split())


class Traits(TypedDict, total=False):
    """The traits of a reward function. [`reward`] says what each means."""

    check: Callable[..., None]
    columns: Callable[..., set[str]]
    outcome: bool
    asks: bool | None
    form: Callable[..., Form]
    worthless: Callable[..., dict[str, str]]
    lengths: Callable[..., dict[str, int]]
    ready: Callable[..., str | None]
    reads: dict[str, ReadColumn]
    solves: Callable[..., str | None]
    examines: Callable[..., Findings | None]


TYPES = get_type_hints(Traits)


def check_trait(trait: str, value: Any, is_result: bool = False) -> None:
    """Check the type of what is declared for a trait, or of what a declared function returns."""
    if trait not in TYPES:
        raise TypeError(f"reward() has no trait {trait!r}. Choose one of {', '.join(TYPES)}.")
    expected = get_args(TYPES[trait])[-1] if is_result else TYPES[trait]
    if not has_type(value, expected):
        raise TypeError(
            f"The trait {trait!r} must {'return a value' if is_result else 'be'} of the type {format_annotation(expected)}; got "
            f"{value!r}. help(reward) says what each trait means."
        )
