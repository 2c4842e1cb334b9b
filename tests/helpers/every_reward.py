"""A reward of each kind of the library."""

from trl_grpo_rewards import appeal, boxed, judge, overlap, parse, ranking
from trl_grpo_rewards.registry import REGISTRY


OURS = {name: maker for name, maker in REGISTRY.items() if maker.__module__.startswith("trl_grpo_rewards.")}

WITH_OPTIONS = r"""
boxed(partial=0.1)
citations(sources='sources')
clip(length(4, unit='words'), high=0.5, name='clip')
cosine(boxed, max_tokens=9)
environment('score')
gate(overlap, by=boxed, name='gate')
json_text({'type': 'object'})
keywords(any=('so',))
length(4)
overlong(9, cache=3)
pattern('\\d')
route('kind', {'math': shortest(boxed)}, default=overlap, name='route')
schedule(boxed, steps=((0, 0.0), (10, 1.0)), name='schedule')
script('Latin')
share(boxed)
shortest(boxed)
tags('think')
truncated(9)
turns(2, at_least=2)
"""
"""Rewards that need options, or that show more of what they do with options."""


def samples(server=None):
    """
    One reward of each kind, under its own name.

    Without a judge's server, these are the rewards that need neither servers nor environments nor the jail.
    """
    given = {
        "appeal": appeal(overlap(), to=server.judge(judge) if server else boxed(), refused=True, name="appeal"),
        "judge": server and server.judge(judge),
        "ranking": server and server.judge(ranking),
        **{one.factory.__name__: one for one in map(parse, WITH_OPTIONS.split("\n")[1:-1])},
    }
    left_out = () if server else ("code", "environment", "judge", "ranking")
    made = {name: maker() for name, maker in OURS.items() if name not in given}
    return {name: value for name, value in (given | made).items() if name not in left_out}
