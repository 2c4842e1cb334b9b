"""The form of a completion: tags, words, length, and how the answer is written."""

import json
from dataclasses import dataclass
from typing import TypeVar


Value = TypeVar("Value")


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
    length: tuple[int, str] | None = None
    answer: str = ""
    bare: bool = False

    def __post_init__(self) -> None:
        for name in ("tags", "words", "without"):
            values = getattr(self, name)
            if isinstance(values, str) or not all(isinstance(value, str) for value in values):
                raise TypeError(f"Form needs {name} as a tuple of texts; got {values!r}. Write {name}=('...',).")
            object.__setattr__(self, name, tuple(values))
        if self.length is not None and not (
            isinstance(self.length, tuple) and len(self.length) == 2 and self.length[1] in ("tokens", "words", "chars")
        ):
            raise TypeError(
                f"Form needs length as a number and 'tokens', 'words' or 'chars'; got {self.length!r}. "
                f"Write length=(100, 'tokens')."
            )
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
        if self.tags and other.tags and self.prefilled != other.prefilled:
            raise ContradictoryForms(f"one expects the tag <{self.tags[0]}> to be open already, and another does not")
        tags = max(self.tags, other.tags, key=len)
        if tags[: len(self.tags)] != self.tags or tags[: len(other.tags)] != other.tags:
            raise ContradictoryForms(f"one needs the tags {self.tags}, and another {other.tags}")
        return Form(
            tags,
            self.prefilled or other.prefilled,
            words,
            without,
            choose_equal("choices", self.choices, other.choices),
            choose_equal("length", self.length, other.length),
            choose_equal("answer", self.answer, other.answer),
            self.bare or other.bare,
        )

    def write_answer(self, answer: str) -> str:
        """Return the answer as this form writes it."""
        if '"{}"' in self.answer:
            answer = json.dumps(answer, ensure_ascii=False)[1:-1]
        return self.answer.replace("{}", answer) if self.answer else f"\\boxed{{{answer}}}"

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


def choose_equal(field: str, one: Value, other: Value) -> Value:
    """Return the value of a field that both forms agree on, or that only one has."""
    if one and other and one != other:
        raise ContradictoryForms(f"one needs the {field} {one!r}, and another {other!r}")
    return one or other
