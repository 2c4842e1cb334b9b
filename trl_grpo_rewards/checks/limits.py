"""A limit of time for calls with long texts, which make some regular expressions run for hours."""

import contextlib
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from math import ceil
from typing import TypeAlias

from ..expressions import Reward
from ..function_rewards import has_own_code
from .completions import Rows, Tokenize, score_groups


Call: TypeAlias = Callable[[], object]
SHORT = 4_000  # number of characters of a text up to which its time is not limited
LATE_SECONDS = 5.0  # time that a long text may take more than a short one
PATIENCE = 4  # how much longer a call may take by the clock, on a busy machine, than of a processor


def is_late(short: Call, long: Call) -> bool:
    """Whether the second call takes more seconds of a processor than the first one, by at least [`LATE_SECONDS`].

    A copy of this process makes both, and is ended then. What they return is lost.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return False
    copy = multiprocessing.get_context("fork").Process(target=call_both, args=(short, long))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the copy has one thread, which is all that it needs
        copy.start()
    copy.join(PATIENCE * LATE_SECONDS)
    code = copy.exitcode  # negative if a signal ended it
    copy.kill()
    copy.join()
    return code is None or code < 0


def call_both(short: Call, long: Call) -> None:
    """Make two calls in silence. The system ends this process if the second one takes too long."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    with contextlib.suppress(BaseException):
        before = time.process_time()
        short()
        limit = ceil(2 * time.process_time() - before + LATE_SECONDS)  # of all that the copy has used
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        long()
    os._exit(0)  # else Python would wait for threads that the copy does not have


def is_timed(term: Reward) -> bool:
    """Whether a term scores a text by itself, so that the time which it takes can be measured."""
    return not (term.is_async or term.asks or term.is_grouped)


def find_late(
    rewards: Reward, first: Rows, right: str, attacks: Mapping[str, str], tokens: Tokenize
) -> dict[str, str]:
    """Return a warning for each long attack on the first row that a function of the user's own needs too long for."""
    said = dict[str, str]()
    long = {name: text for name, text in attacks.items() if len(text) > SHORT}
    for term in filter(is_timed, filter(has_own_code, rewards.rewards)):
        short = partial(score_groups, term, first, [[right]], tokens)
        for name in long.keys() - said:
            if is_late(short, partial(score_groups, term, first, [[long[name]]], tokens)):
                said[name] = (
                    f"{term} takes more than {LATE_SECONDS:g} s on the attack '{name}' ({len(long[name]):,} characters), and a "
                    f"model can write such a text. Read only the end of a completion, or make its regular expression simpler."
                )
    return said
