"""Tables, texts and JSON as the commands print them, whatever a model or a reward has written."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trl_grpo_rewards.cli.console import (
    cut,
    fit_columns,
    fit_texts,
    format_table,
    keep_stdout_for_json,
    make_printable,
    measure_screen,
    print_json,
)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)


def test_characters_that_control_a_terminal_are_escaped():
    hostile = "a\x1b[2Jb\rc\x07d\u202ee\n\n f\x9b1m"
    assert make_printable(hostile) == "a\\x1b[2Jb c\\x07d\\u202ee f\\x9b1m"
    assert make_printable("日本 é ✓") == "日本 é ✓"


def test_wide_characters_take_two_columns():
    assert cut("日本語の文", 8) == "日本..." and cut("日本語の文", 8, keep_end=True) == "...の文"
    assert cut("日本語の文", 10) == "日本語の文" and cut("e\u0301" * 10, 10) == "e\u0301" * 10


@pytest.mark.parametrize(
    "variables", [{}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, {"FORCE_COLOR": "1", "TERM": "dumb"}]
)
def test_numbers_are_aligned_and_texts_take_several_lines(monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    rows = [["reward", "mean", "scores"], ["a" * 40, "123456.789", "b" * 60], ["日本", "1", ""]]
    assert format_table(rows, "<><", 60).splitlines() == [
        "reward                        mean  scores", f"{'a' * 22}  123456.789  {'b' * 24}",
        f"{'a' * 18}                  {'b' * 24}", f"{'b' * 12:>48}", "日本                             1",
    ]  # fmt: skip
    assert format_table(rows, "<><", 200).splitlines()[1] == f"{'a' * 40}  123456.789  {'b' * 60}"


@pytest.mark.parametrize("columns, shown", [(56, 4), (53, 3), (40, 2), (4, 2)])
def test_the_last_columns_are_left_out_if_texts_would_take_several_lines(columns, shown):
    rows = [["name", "a", "b", "c"], ["x" * 20, "1.0", "y" * 20, "2.000"]]
    assert fit_columns(rows, "<><>", columns, least=2)[0] == [row[:shown] for row in rows]


@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_a_table_fits_and_shows_everything(texts):
    lines = format_table([[text] for text in texts], "<", 60).split("\n")
    assert all(cell_len(line) <= 60 for line in lines)
    assert "".join("".join(lines).split()) == "".join(make_printable("".join(texts)).split())


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=2, max_size=6))
def test_a_table_with_numbers_fits(rows):
    lines = format_table([[one, "1.0", other] for one, other in rows], "<><", 60).split("\n")
    assert all(cell_len(line) <= 60 for line in lines) and "\n".join(lines).count("1.0") >= len(rows)


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=12), st.integers(3, 15))
def test_texts_fit_and_it_is_said_where_the_others_are(texts, lines):
    shown = fit_texts([f"fault: {text}" for text in texts], 60, lines, "here")
    assert len(shown) <= lines and all(len(line) <= 60 for line in shown)
    everything = fit_texts([f"fault: {text}" for text in texts], 60, 10**6, "here")
    assert shown == everything or shown == [*everything[: lines - 1], "... and more: here"] and len(everything) > lines
    assert sum(line.startswith("fault:") for line in everything) == len(texts)
    assert fit_texts(["one two"], 5, 2, "here") == ["one", "  two"] and fit_texts([], 60, 5, "here") == []


@pytest.mark.parametrize(
    "columns, lines, said", [("100", "50", (100, 49)), ("1", "1", (60, 19)), ("80", "24", (80, 23))]
)
def test_the_screen_is_that_of_the_terminal(monkeypatch, columns, lines, said):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    assert measure_screen() == said


def test_what_a_reward_prints_does_not_spoil_json(capsys):
    with keep_stdout_for_json(True):
        print("noise")
    print_json({"a": None})
    out, error = capsys.readouterr()
    assert json.loads(out) == {"a": None} and error == "noise\n"
    with keep_stdout_for_json(False):
        print("shown", file=sys.stdout)
    assert capsys.readouterr().out == "shown\n"
    with pytest.raises(ValueError):
        print_json({"a": float("nan")})
