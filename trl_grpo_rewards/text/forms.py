"""The form of a completion: the tags, words, length and way of answering that rewards ask for."""

from dataclasses import dataclass, fields, replace
from typing import Any


class ContradictoryForms(ValueError):
    """Two rewards ask for forms that no completion has."""


@dataclass(frozen=True)
class Form:
    r"""
    The form of a completion that earns a reward in full. A field that is left out does not matter to the reward.

    Args:
        tags (`tuple[str]`, *optional*):
            Names of the tags that the completion consists of, in order.
        prefilled (`bool`, *optional*, defaults to `False`):
            Whether the chat template has opened the first tag already.
        words (`tuple[str]`, *optional*):
            Texts that occur in the completion.
        without (`tuple[str]`, *optional*):
            Texts that do not occur in it.
        choices (`str`, *optional*):
            Letters of which one is the answer.
        length (`tuple[int, str]`, *optional*):
            Number of `"tokens"`, `"words"` or `"chars"`.
        answer (`str`, *optional*):
            How the answer is written. `{}` stands for it. Without a form that has one, it is `\boxed{...}`.
    """

    tags: tuple[str, ...] = ()
    prefilled: bool = False
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    choices: str = ""
    length: tuple[int, str] | None = None
    answer: str = ""

    def merge(self, other: "Form") -> "Form":
        """
        Return the form that satisfies both.

        Raises:
            [`ContradictoryForms`]: there is none.
        """
        words = tuple(dict.fromkeys(self.words + other.words))
        without = tuple(dict.fromkeys(self.without + other.without))
        if both := {*words} & {*without}:
            raise ContradictoryForms(f"one needs the text {min(both)!r}, and another must not have it")
        if self.tags and other.tags and self.prefilled != other.prefilled:
            raise ContradictoryForms(f"the tag <{self.tags[0]}> is open already for one, and not for another")
        tags = max(self.tags, other.tags, key=len)
        if tags[: len(self.tags)] != self.tags or tags[: len(other.tags)] != other.tags:
            raise ContradictoryForms(f"one needs the tags {self.tags}, and another {other.tags}")
        single = {
            field.name: self._agreed(field.name, getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
            if field.name in ("choices", "length", "answer")
        }
        return Form(tags, self.prefilled or other.prefilled, words, without, **single)

    def _agreed(self, field: str, mine: Any, others: Any) -> Any:
        if mine and others and mine != others:
            raise ContradictoryForms(f"one needs the {field} {mine!r}, and another {others!r}")
        return mine or others

    def write_answer(self, answer: str) -> str:
        """Return the answer as the form has it."""
        return self.answer.replace("{}", answer) if self.answer else f"\\boxed{{{answer}}}"

    def wrap(self, working: str, final: str) -> str:
        """Return the working and the final part inside the tags."""
        if not self.tags:
            return f"{working}\n{final}"
        first, *others = self.tags
        text = f"{'' if self.prefilled else f'<{first}>'}{working}</{first}>\n"
        if not others:
            return text + final
        between = "".join(f"<{name}>{working}</{name}>\n" for name in others[:-1])
        return f"{text}{between}<{others[-1]}>{final}</{others[-1]}>"

    def without_tags(self) -> "Form":
        return replace(self, tags=(), prefilled=False)
