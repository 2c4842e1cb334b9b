"""What of a text its model says as its answer: no reasoning, no words of tools, no comments in code, and no further turn."""

import re

from ..texts import REASONING_MARKS, strip_end_marks, strip_reasoning
from .statements import find_first_statement


TOOL_TAGS = (
    "tool_call tool_response tool_result tool_output information output result observation function_results "
    "search_results documents execution_result interpreter"
)
TAG = re.compile(rf"(?i)<(/?)({TOOL_TAGS.replace(' ', '|')})>")
BLOCK = re.compile(r"(?ms)^[ \t]{0,9}(```+)[ \t]*([\w+#-]*)[^\n`]*\n(.*?)(?:^[ \t]{0,9}\1[ \t]*$|\Z)")
PRINTED = {*"output stdout stderr result results console".split()}  # languages of blocks that a tool has written
PLAIN = {*"text txt plain plaintext markdown md latex tex math json".split(), ""}  # and of those without comments
COMMENT = re.compile(r"(?m)(?:#|//|--).*$")
CHAT_MARKS = (
    r"<\|im_start\|>\s*(?:user|human)|<\|start_header_id\|>\s*(?:user|human)|<start_of_turn>\s*user|<\|(?:user|human)\|>"
    r"|<[|｜]User[|｜]>|<\|start\|>\s*user|\[INST\]"
)
SPEAKERS = "Q|Question|Problem|Exercise|Human|User|Instruction|问题|問題|题目|質問|문제|Pregunta|Frage|Вопрос"
NEW_TURN = re.compile(
    rf"(?mi)({CHAT_MARKS})|^[ \t>*_#]{{0,9}}(?:{SPEAKERS})(?:[ \t]?\d{{1,4}})?[*_]{{0,3}}[ \t]{{0,3}}[:：]"
    r"|^#{1,6}[ \t]{0,9}(?:Question|Problem|Exercise|Instruction|Human|User)\b[^\n]{0,20}$"
)


def find_own_words(text: str) -> str:
    """Return the part of a completion in which its model can state its answer."""
    if "<" in text:
        text = drop_tags(text)
    if "```" in text:
        text = BLOCK.sub(blank_code, text)
    return strip_reasoning(cut_turns(text))


def drop_tags(text: str) -> str:
    """Return a text without what is in the tags of tools. A tag that is never closed hides the rest."""
    kept, start, name = [], 0, ""
    for found in TAG.finditer(text):
        closes, tag = found[1], found[2].lower()
        if not name and not closes:
            kept.append(text[start : found.start()])
            name = tag
        elif closes and tag == name:
            start, name = found.end(), ""
    return "\n".join([*kept, "" if name else text[start:]])


def blank_code(block: re.Match[str]) -> str:
    language = block[2].lower()
    return "" if language in PRINTED else block[0] if language in PLAIN else COMMENT.sub("", block[0])


def cut_turns(text: str) -> str:
    """
    Return the text before a new turn: before a mark of a chat template, or a new question after an answer.

    Nothing ends the text before the first reasoning is over.
    """
    ends = (text.find(end) for _, end in REASONING_MARKS)
    start, first = max(0, min((place for place in ends if place >= 0), default=0)), None
    for turn in NEW_TURN.finditer(text, start):
        first = find_first_statement(text[start:]) if first is None else first
        is_marked = turn[1] and text[start : turn.start()].strip()
        if is_marked or 0 <= first < turn.start() - start:
            return strip_end_marks(text[: turn.start()])
    return text
