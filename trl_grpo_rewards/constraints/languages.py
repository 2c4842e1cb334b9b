"""Constraints on the language of a text, by the package `langdetect`, as in IFEval."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from .table import UnreadableConstraint, constraint


if TYPE_CHECKING:
    from langdetect.detector_factory import DetectorFactory


MAX_CHARS = 10_000
"""Number of characters that langdetect reads by default."""


@cache
def load_languages() -> "DetectorFactory":
    """Return the detectors. They have a seed, because langdetect guesses otherwise, and the same text must score the same."""
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(0)
    return factory


@lru_cache(maxsize=1024)
def detect_language(text: str) -> str | None:
    """Return the code of the language of a text, such as `en` or `zh-cn`, or None if it has no known letters."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = load_languages().create()
    detector.append(text[:MAX_CHARS])
    try:
        return str(detector.detect())
    except LangDetectException:
        return None


@constraint("language:response_language", package="langdetect")
def response_language(text: str, language: str) -> bool:
    """`zh` stands for all codes that begin with `zh-`."""
    known = load_languages().get_lang_list()
    if not any(is_same_language(language, one) for one in known):
        raise UnreadableConstraint(f"the language {language!r} is unknown; langdetect has {', '.join(sorted(known))}")
    found = detect_language(text)
    return found is not None and is_same_language(language, found)


def is_same_language(asked: str, found: str) -> bool:
    return found == asked.lower() or found.startswith(f"{asked.lower()}-")
