"""What of a text its model says as its answer: no reasoning, no words of tools, no comments in code, and no further turn."""

import re

from ..texts import REASONING_MARKS, strip_end_marks, strip_reasoning
from .statements import find_first_statement


TOOL_TAGS = (
    "tool_call tool_response tool_result tool_output information output result observation function_results "
    "search_results documents execution_result interpreter"
)
TAG = re.compile(rf"(?i)<(/?)({TOOL_TAGS.replace(' ', '|')})>")
PRINTED = {*"output stdout stderr result results console".split()}  # languages of blocks that a tool has written
PLAIN = {*"text txt plain plaintext markdown md latex tex math json".split(), ""}  # and of those without comments
COMMENTS = {mark: re.compile(rf"{mark}.*") for mark in ("#", "//", "--")}  # one pattern would search much longer
USER_TURN = re.compile(
    r"<(?:\|im_start\|>\s*(?:user|human)|\|start_header_id\|>\s*(?:user|human)|start_of_turn>\s*user|\|(?:user|human)\|>"
    r"|[|｜]User[|｜]>|\|start\|>\s*user)|\[INST\]",
    re.IGNORECASE,
)
ENGLISH = "Question Problem Exercise Human User Instruction".split()
SPEAKERS = (*ENGLISH, *map(str.upper, ENGLISH), "Q", *"问题 問題 题目 質問 문제 Pregunta Frage Вопрос".split())
NEW_QUESTION = re.compile(
    rf"\n(?=[ \t>*_#]{{0,9}}[{''.join(sorted({name[0] for name in SPEAKERS}))}])"  # rules most lines out at once
    rf"(?:[ \t>*_#]{{0,9}}(?:{'|'.join(SPEAKERS)})(?:[ \t]?\d{{1,4}})?[*_]{{0,3}}[ \t]{{0,3}}[:：]"
    rf"|#{{1,6}}[ \t]{{0,9}}(?:{'|'.join(SPEAKERS)})\b[^\n]{{0,20}}(?=\n|$))"
)


def find_own_words(text: str) -> str:
    """Return the part of a completion in which its model can state its answer."""
    if "\n" not in text and "<" not in text and "[" not in text:  # as many are
        return text
    if "<" in text:
        text = drop_tags(text)
    if "```" in text:
        text = drop_code(text)
    return strip_reasoning(cut_turns(text))


def drop_tags(text: str) -> str:
    """Return a text without what is in the tags of tools. A tag that is never closed hides the rest."""
    kept = []
    start = 0
    name = ""  # of the tag that is open
    for found in TAG.finditer(text):
        tag = found[2].lower()
        if not name and not found[1]:
            kept.append(text[start : found.start()])
            name = tag
        elif found[1] and tag == name:
            start = found.end()
            name = ""
    return "\n".join([*kept, "" if name else text[start:]])


def drop_code(text: str) -> str:
    """Return a text without blocks of output, and without the comments of code. The language is after the fence."""
    parts = text.split("```")
    for place in range(1, len(parts), 2):
        first = parts[place].partition("\n")[0].strip("` \t").split(maxsplit=1)
        language = first[0].lower() if first else ""
        if language in PRINTED:
            parts[place] = ""
        elif language not in PLAIN:
            parts[place] = drop_code_comments(parts[place])
    return "```".join(parts)


def drop_code_comments(code: str) -> str:
    for mark, comment in COMMENTS.items():
        if mark in code:
            code = comment.sub("", code)
    return code


def may_have_turns(text: str) -> bool:
    """Whether a text may contain a mark of a chat template."""
    return "[INST]" in text or ("<" in text and ("<|" in text or "<｜" in text or "<start_of_turn" in text))


def list_turns(text: str) -> list[tuple[int, bool]]:
    """Return where new turns may begin, and whether each has a mark of a chat template."""
    questions = [(found.start(), False) for found in NEW_QUESTION.finditer(text)]
    turns = [(found.start(), True) for found in USER_TURN.finditer(text)]
    return sorted([*questions, *turns])


def find_reasoning_end(text: str) -> int:
    """Return the place of the first mark that ends a reasoning, or 0."""
    ends = [text.find(end) for _, end in REASONING_MARKS]
    return min((place for place in ends if place >= 0), default=0)


def cut_turns(text: str) -> str:
    """
    Return the text before a new turn: before a mark of a chat template, or a new question after an answer.

    Nothing ends the text before the first reasoning is over.
    """
    if not may_have_turns(text) and NEW_QUESTION.search(text) is None:  # as most are
        return text
    start = find_reasoning_end(text)
    first = find_first_statement(text[start:])
    for place, is_marked in list_turns(text):
        is_after_answer = 0 <= first < place - start
        if place > start and (is_after_answer or is_marked and text[start:place].strip()):
            return strip_end_marks(text[:place])
    return text
