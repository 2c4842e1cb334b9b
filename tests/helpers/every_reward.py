"""A reward of each kind of the library."""

from trl_grpo_rewards import (
    appeal,
    boxed,
    citations,
    clip,
    cosine,
    environment,
    gate,
    json_text,
    judge,
    keywords,
    length,
    overlap,
    overlong,
    pattern,
    ranking,
    route,
    schedule,
    script,
    share,
    shortest,
    tags,
    truncated,
    turns,
)
from trl_grpo_rewards.registry import REGISTRY


OURS = {name: maker for name, maker in REGISTRY.items() if maker.__module__.startswith("trl_grpo_rewards.")}


def samples(server=None):
    """
    One reward of each kind, under its own name, with options where it needs some or more is to be seen with them.

    Without a judge's server, these are the rewards that need neither servers nor environments nor the jail.
    """
    judged = {
        "appeal": appeal(overlap(), to=server.judge(judge) if server else boxed(), refused=True, name="appeal"),
        "judge": server and server.judge(judge),
        "ranking": server and server.judge(ranking),
    }
    given = judged | {
        "boxed": boxed(partial=0.1),
        "citations": citations(sources="sources"),
        "clip": clip(length(4, unit="words"), high=0.5, name="clip"),
        "cosine": cosine(boxed(), max_tokens=9),
        "environment": environment("score"),
        "gate": gate(overlap(), by=boxed(), name="gate"),
        "json_text": json_text({"type": "object"}),
        "keywords": keywords(any=("so",)),
        "length": length(4),
        "overlong": overlong(9, cache=3),
        "pattern": pattern(r"\d"),
        "route": route("kind", {"math": shortest(boxed())}, default=overlap(), name="route"),
        "schedule": schedule(boxed(), steps=((0, 0.0), (10, 1.0)), name="schedule"),
        "script": script("Latin"),
        "share": share(boxed()),
        "shortest": shortest(boxed()),
        "tags": tags("think"),
        "truncated": truncated(9),
        "turns": turns(2, at_least=2),
    }
    left_out = () if server else ("code", "environment", "judge", "ranking")
    made = {name: maker() for name, maker in OURS.items() if name not in given}
    return {name: value for name, value in (given | made).items() if name not in left_out}
