"""Constraints of IFEval on the form of a text: lists, sections, titles, JSON, how it begins and how it ends."""

import json
import re

from .table import Position, constraint
from .visible import has_content


ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


@constraint("detectable_content:number_placeholders")
def number_placeholders(text: str, num_placeholders: int) -> bool:
    """A placeholder is a pair of square brackets in one line, with a letter or a digit in it."""
    return sum(map(has_content, re.findall(r"\[([^\[\]\n]*)\]", text))) >= num_placeholders


@constraint("detectable_content:postscript")
def postscript(text: str, postscript_marker: str) -> bool:
    """The marker occurs, with text after it. The letters of `P.S.` and `P.P.S` may be spaced."""
    spaced = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}
    marker = postscript_marker.strip()
    found = re.search(spaced.get(marker, re.escape(marker.lower())), text.lower())
    return found is not None and has_content(text.lower()[found.end() :])


@constraint("detectable_format:number_bullet_lists")
def number_bullet_lists(text: str, num_bullets: int) -> bool:
    """A bullet point is a line that begins with `-`, or with one `*`, and goes on with a letter or a digit."""
    return sum(map(has_content, re.findall(r"(?m)^[^\S\n]*(?:\*(?!\*)|-)(.*)", text))) == num_bullets


@constraint("detectable_format:number_highlighted_sections")
def number_highlighted_sections(text: str, num_highlights: int) -> bool:
    """A highlighted section is a text between one or two asterisks on either side, in one line."""
    found = re.findall(r"\*([^\n*]*)\*", text) + re.findall(r"\*\*([^\n*]*)\*\*", text)
    return sum(map(has_content, found)) >= num_highlights


@constraint("detectable_format:multiple_sections")
def multiple_sections(text: str, section_spliter: str, num_sections: Position) -> bool:
    """A section begins with the word and a number, and has text."""
    heads = rf"{re.escape(section_spliter.strip())}\s?\d+\s?"
    return sum(map(has_content, re.split(heads, text)[1:])) >= num_sections


@constraint("detectable_format:title")
def title(text: str) -> bool:
    """A title is between `<<` and `>>` in one line."""
    return any(has_content(line.partition("<<")[2].rpartition(">>")[0]) for line in text.split("\n"))


@constraint("detectable_format:json_format")
def json_format(text: str) -> bool:
    """The whole text is JSON, inside a code block or not."""
    bare = re.sub(r"^```(?:json|Json|JSON)?", "", text.strip())
    try:
        json.loads(bare.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


@constraint("detectable_format:constrained_response")
def constrained_response(text: str) -> bool:
    """It contains one of the three answers, and not another one."""
    return sum(answer in text for answer in ANSWERS) == 1


@constraint("combination:two_responses")
def two_responses(text: str) -> bool:
    """Six asterisks separate two texts that differ in their words."""
    responses = text.split("******")
    filled = [re.findall(r"\w+", response.casefold()) for response in responses if response.strip()]
    return all(response.strip() for response in responses[1:-1]) and len(filled) == 2 and filled[0] != filled[1]


@constraint("combination:repeat_prompt", copies=True)
def repeat_prompt(text: str, prompt_to_repeat: str) -> bool:
    """The text begins with the request, and an answer follows."""
    request, lowered = prompt_to_repeat.strip().lower(), text.strip().lower()
    return lowered.startswith(request) and has_content(lowered[len(request) :])


@constraint("startend:end_checker")
def end_checker(text: str, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


@constraint("startend:quotation")
def quotation(text: str) -> bool:
    stripped = text.strip()
    return len(stripped) > 1 and stripped[0] == stripped[-1] == '"'
