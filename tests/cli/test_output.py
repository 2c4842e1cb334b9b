"""Tables, texts and JSON as the commands print them, whatever a model or a reward has written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trl_grpo_rewards.cli.console import cut, format_table, format_texts, make_printable


TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)


def test_characters_that_control_a_terminal_are_escaped():
    hostile = "a\x1b[2Jb\rc\x07d\u202ee\n\n f\x9b1m"
    assert make_printable(hostile) == "a\\x1b[2Jb c\\x07d\\u202ee f\\x9b1m"
    assert make_printable("日本 é ✓") == "日本 é ✓"


def test_wide_characters_take_two_columns():
    assert cut("日本語の文", 8) == "日本..." and cut("日本語の文", 8, keep_end=True) == "...の文"
    assert cut("日本語の文", 10) == "日本語の文" and cut("e\u0301" * 10, 10) == "e\u0301" * 10


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}])
def test_numbers_are_aligned_and_texts_take_several_lines(monkeypatch, variables):
    for name, value in {**variables, "COLUMNS": "1"}.items():  # 60 are the least
        monkeypatch.setenv(name, value)
    rows = [["reward", "mean", "scores"], ["a" * 40, "123456.789", "b" * 60], ["日本", "1", ""]]
    assert format_table(rows, "<><") == [
        "reward                        mean  scores", f"{'a' * 22}  123456.789  {'b' * 24}",
        f"{'a' * 18}                  {'b' * 24}", f"{'b' * 12:>48}", "日本                             1",
    ]  # fmt: skip
    assert format_table(rows, "<><", 200)[1] == f"{'a' * 40}  123456.789  {'b' * 60}"


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=2, max_size=6))
def test_a_table_fits_and_shows_everything(rows):
    lines = format_table([[one, "1.0", other] for one, other in rows], "<><", 60)
    assert all(cell_len(line) <= 60 for line in lines) and "\n".join(lines).count("1.0") >= len(rows)
    lines = format_table([row[:1] for row in rows], "<", 60)
    assert "".join("".join(lines).split()) == "".join(make_printable("".join(row[0] for row in rows)).split())


@given(st.lists(TEXTS.filter(str.strip), max_size=12))
def test_the_first_texts_are_shown_and_it_is_said_where_the_others_are(texts):
    *shown, last = format_texts([f"fault: {text}" for text in texts], "here") or [""]
    assert all(len(line) <= 80 for line in shown)
    assert sum(line.startswith("fault:") for line in [*shown, last]) == min(len(texts), 5)
    assert (last == f"... and {len(texts) - 5} more: here") == (len(texts) > 5)
