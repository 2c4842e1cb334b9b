"""Texts of 64,000 characters that are made to be slow, and the rewards for formats, patterns and texts that score them."""

import time

from trl_grpo_rewards import parse


REWARDS = r"""
tags('think', 'answer', partial=True)
json_text({'$ref': '#/$defs/a', '$defs': {'a': {'pattern': '^((a+)+|\\W+.*)+$', 'anyOf': [{'type': 'object', 'propertyNames': {'pattern': '(a|b|_|\\d)*$'}, 'patternProperties': {'(.+)+9': {}}}, {'uniqueItems': True, 'items': {'$ref': '#/$defs/a'}, 'minItems': 3}, {'items': {'anyOf': [{'$ref': '#/$defs/a'}, {'type': 'integer', 'multipleOf': 0.1}]}}]}}})
script('Greek', 'Latin')
length(9, unit='words')
pattern('step \\d+')
keywords(all=('so', '+++b'), none=('a a b',))
citations
citations(sources='sources')
equations
equations(hold=False)
xml_text('a')
repetition(unit='words')
repetition(unit='chars')
overlap
distinct
tool_calls(score='partial')
tool_errors
"""
CALLS = [{"name": f"f{number}", "arguments": {"a": number, "b": number}} for number in range(8)]
REPEATED = [
    "a", "\x00", "é", "漢", " ", "\n", "\\", "$", "=", "1", "1=", "a=", "1+", "1+1=2 ", "1+1=2\n", "9^9^9=1\n", "((1))=",
    "(", "(((1+1)))=2\n", "\\frac{1}{1}=", "\\frac{1}{", "\\text{a", "1,000", "1/1=", "<", "<a>", "<a/>", "<a b='c' ", "</a>",
    "&a;", "<!--", "<![CDATA[", "<think>", "</think>", "<answer>\n", "[", "{", '{"a":', '"', '"\\u', "[1,", "[1]", "[1 , ",
    "step ", "so", "a a ", "+",
    "<tool_call>", "<tool_call>[", '<tool_call>"', "<tool_call>{}</tool_call>", "<tool_response>", "\\boxed",
    '<tool_call>{"', '<tool_call>{"a":"', '<tool_call>["",', "<tool_call><function=a><parameter=b>", "[f(",
]  # fmt: skip
LENGTH = 64_000
TEXTS = {
    **{unit: (unit * LENGTH)[:LENGTH] for unit in REPEATED},
    "all numbers": " ".join(map(str, range(LENGTH)))[:LENGTH],
    "all citations": "".join(f"[{number}]" for number in range(1, LENGTH))[:LENGTH],
    "all sums": "".join(f"{number}+{number}={2 * number}\n" for number in range(LENGTH))[:LENGTH],
    "deep sums": "".join(f"{'(' * 80}{number}{')' * 80}*2={number}\n" for number in range(LENGTH // 160))[:LENGTH],
    "sums in brackets": "".join(f"{'(' * 55}{number}{')' * 55}*2={number}\n" for number in range(LENGTH // 110))[
        :LENGTH
    ],
    "large products": "".join(f"{'*'.join(['9' * 12] * 14)}={number}\n" for number in range(LENGTH // 180))[:LENGTH],
    "parameters": "<tool_call><function=a>" + "<parameter=b>" * 4000 + "</function></tool_call>",
    "keys": "<tool_call>a" + "<arg_key>b</arg_key>" * 3000 + "</tool_call>",
    "a name": "<tool_call>" + "a" * 60_000 + "</tool_call>",
    "signs": "[f(a=" + "-" * 60_000 + "1)]",
    "a fence": "```json\n" + "\n" * 64_000 + "```",
    "attributes": "<a " + " ".join(f"a{number}=''" for number in range(6000)) + "/>",
    "nested": "<a>" * 9000 + "</a>" * 9000,
    "brackets": "[" * 32_000 + "]" * 32_000,
    "deep": "[" * 499 + "[[],[1]]," * 7000 + "1" + "]" * 499,
    "items": "[" + ",".join("1" * 32_000) + "]",
    "different items": "[" + ",".join(f"[{number}]" for number in range(8000)) + "]",
    "a string": '"' + "a" * (LENGTH - 3) + '!"',
    "calls": "".join(
        f'<tool_call>{{"name":"f{number % 8}","arguments":{{"a":{number},"b":{number % 8}}}}}</tool_call>'
        for number in range(LENGTH // 64)
    ),
    "names": "{" + ",".join(f'"{number}":1' for number in range(6000)) + "}",
}


def time_reward(reward, text: str) -> float:
    """Return the CPU time for one completion in seconds. A grouped reward gets a group of two."""
    size = 2 if reward.is_grouped else 1
    start = time.thread_time()
    reward(
        completions=[text] * size,
        solution=["the red fox"] * size,
        sources=[["Aa 2020"] * 9] * size,
        tool_calls=[CALLS] * size,
    )
    return (time.thread_time() - start) / size


def list_slow_texts(limit: float, runs: int = 3) -> list[str]:
    """Return each reward with a text for which it takes longer than the limit, in seconds, in each run."""
    return [
        f"{reward.name}, {name!r}"
        for reward in map(parse, REWARDS.split("\n")[1:-1])
        for name, text in TEXTS.items()
        if all(time_reward(reward, text) > limit for _ in range(runs))
    ]
