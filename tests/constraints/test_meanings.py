"""What each constraint demands: a text that meets it, and one from which the demanded thing was taken away."""

import itertools
import time

import pytest

from trl_grpo_rewards import instructions
from trl_grpo_rewards.constraints import (
    formats,
    occurrences,
    sentences,
    single_tasks,
)
from trl_grpo_rewards.constraints.table import CONSTRAINTS


TOPICS = (formats, occurrences, sentences, single_tasks)
ENGLISH = "the weather was lovely this morning and we walked along the river for an hour"
NAMES = "Emma, Liam and Noah"
PALINDROMES = "level radar civic madam refer rotor kayak tenet stats sagas"
COUNTRIES = "\n".join(["Zimbabwe", *(f"Country {number:02}" for number in range(60, 0, -1))])
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, Amsterdam, "
    "Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, "
    "Zagreb"
)
QUESTIONS = "\n".join(
    f"Question {number}: Who painted {'more ' * number}?\n" + "\n".join(f"{letter}) Someone" for letter in "ABCDE")
    for number in (1, 2, 3, 4)
)
CITIES = "ID,Country,City,Year,Count\n" + "\n".join(f"{row},France,Paris,2020,{row}" for row in range(7))
PRODUCTS = 'ProductID,Category,Brand,Price,Stock\n1,"Toys & more",Acme,2,3\n' + "\n".join(["2,Toys,Acme,2,3"] * 13)
STUDENTS = "\n".join(
    "\t".join(f'"{field}"' for field in row)
    for row in [["StudentID", "Subject", "Grade", "Semester", "Score"], *[["1", "Art", "A", "2", "9"]] * 3]
)
KEYWORDS = dict(zip((f"keyword{place}" for place in range(1, 6)), ("ant", "bee", "cow", "dog", "elk"), strict=True))
ALL_KEYWORDS = " ".join("ant " * 1 + "bee " * 2 + "cow " * 3 + "dog " * 5 + "elk " * 7 for _ in range(1))
REPEAT = {"prompt_to_repeat": "Write a poem."}

MEANINGS = {
    "change_case:capital_word_frequency": ({"capital_frequency": 2, "capital_relation": "at least"}, "I saw NASA.", "I saw it."),
    "change_case:english_capital": ({}, ENGLISH.upper(), ENGLISH),
    "change_case:english_lowercase": ({}, ENGLISH, ENGLISH.upper()),
    "combination:repeat_prompt": (REPEAT, "write a poem. Roses are red.", "Roses are red."),
    "combination:two_responses": ({}, "One way.\n******\nThe other.", "One way. The other."),
    "count:conjunctions": ({"small_n": 3.0}, "He and she, but nor I.", "He and she."),
    "count:keywords_multiple": (KEYWORDS, ALL_KEYWORDS, ALL_KEYWORDS.replace("ant", "")),
    "count:numbers": ({"N": 2}, "1,000 men and 3.5 dogs", "1,000 men"),
    "count:person_names": ({"N": 3}, NAMES, "Emma, Liam and Emmanuel"),
    "count:pronouns": ({"N": 3}, "We gave them this/that.", "We gave the book."),
    "count:punctuation": ({}, "What?! No, yes; so: stop. Go! Why?", "What? No, yes; so: stop. Go!"),
    "count:unique_word_count": ({"N": 3}, "red, green, blue", "red, red, red"),
    "count:word_count_range": ({"min_words": 2, "max_words": 3}, "one two three", "one two three four"),
    "count:words_japanese": ({"N": 2}, "The 猫 is 黒い today", "The cat is black today"),
    "custom:character_reverse": ({}, "elgae dlab ehT", "The bald eagle"),
    "custom:csv_city": ({}, CITIES, CITIES.replace("City", "Town")),
    "custom:csv_quotes": ({}, STUDENTS, STUDENTS.replace('"Art"', "Art")),
    "custom:csv_special_character": ({}, PRODUCTS, PRODUCTS.replace(" & ", " ")),
    "custom:date_format_list": ({}, "1796-04-12, 1815-06-18", "1796-04-12, 18 June 1815"),
    "custom:european_capitals_sort": ({}, CAPITALS, CAPITALS.replace("Oslo, ", "")),
    "custom:mcq_count_length": ({}, QUESTIONS, QUESTIONS.replace("E) Someone", "")),
    "custom:multiples": ({}, "14, 21, 28, 35, 42, 49", "14, 21, 28, 35, 42"),
    "custom:reverse_newline": ({}, COUNTRIES, COUNTRIES.replace("Country 60\n", "") + "\nCountry 60"),
    "custom:sentence_alphabet": ({}, " ".join(f"{one.upper()}x went." for one in LETTERS), "Ax went. Bx went."),
    "custom:word_reverse": ({}, "eagle bald the is It", "It is the bald eagle"),
    "detectable_content:number_placeholders": ({"num_placeholders": 2}, "Dear [name], of [town]", "Dear [name], of Bonn"),
    "detectable_content:postscript": ({"postscript_marker": "P.S."}, "Bye.\nP. S. I miss you.", "Bye.\nI miss you."),
    "detectable_format:constrained_response": ({}, "My answer is yes.", "Yes."),
    "detectable_format:json_format": ({}, '```json\n{"a": 1}\n```', 'Here: {"a": 1}'),
    "detectable_format:multiple_sections": ({"section_spliter": "Day", "num_sections": 2}, "Day 1\nRest\nDay 2\nRun", "Day 1\nRest"),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "So:\n* one\n- two", "So:\n* one"),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 2}, "*one* and **two**", "*one* and two"),
    "detectable_format:title": ({}, "<<A song>>\nLa la", "A song\nLa la"),
    "format:emoji": ({}, "Hello 😀. Bye! 🇫🇷", "Hello 😀. Bye!"),
    "format:line_indent": ({}, "one\n\n two\n  three", "one\ntwo\nthree"),
    "format:list": ({"sep": "!?!?"}, "!?!? milk\n!?!? eggs", "- milk\n- eggs"),
    "format:newline": ({}, "One,\ntwo\n\nthree", "One two\nthree"),
    "format:no_bullets_bullets": ({}, "One. Two.\n* three\n* four", "One.\n* three\n* four"),
    "format:no_whitespace": ({}, "Onetwo", "One two"),
    "format:options": ({"options": "yes/no/maybe"}, "Maybe.", "Perhaps."),
    "format:output_template": ({}, "My Answer: a My Conclusion: b Future Outlook: c", "My Answer: a Future Outlook: c"),
    "format:parentheses": ({}, "a (b [c {d (e [f])}])", "a (b [c {d}])"),
    "format:quote_unquote": ({}, 'He said "so" and left. "No" means no', 'He left and said "so"'),
    "format:quotes": ({}, "\"a 'b \"c\" d' e\"", "\"a 'b' c\""),
    "format:sub-bullets": ({}, "* one\n  - two\n* three\n- four", "* one\n  - two\n* three"),
    "format:thesis": ({}, "<i>It is so.</i> Because.", "It is so. Because."),
    "format:title_case": ({}, "The Red Fox, iPhone", "The red Fox"),
    "keywords:existence": ({"keywords": ["sun", "moon"]}, "Sunny, and the MOON", "Sunny"),
    "keywords:forbidden_words": ({"forbidden_words": ["sun", "C++"]}, "Sunny C", "The Sun."),
    "keywords:frequency": ({"keyword": "sun", "frequency": 2, "relation": "at least"}, "Sun up, sun down", "Sun up"),
    "keywords:letter_frequency": ({"letter": "!", "let_frequency": 2, "let_relation": "at least"}, "Oh! No!", "Oh! No"),
    "language:response_language": ({"language": "de"}, "Heute ist das Wetter sehr schön, wir gehen spazieren", ENGLISH),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "So"}, "One.\n\n\"So,\" he said.", "One.\n\nAnd so on."
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "One.\n***\nTwo.", "One.\n\nTwo."),
    "length_constraints:number_sentences": ({"num_sentences": 2, "relation": "less than"}, "Dr. Smith came", "He came. She left"),
    "length_constraints:number_words": ({"num_words": 3, "relation": "at least"}, "one two three", "one two"),
    "punctuation:no_comma": ({}, "one two", "one, two"),
    "ratio:overlap": ({"reference_text": "abcdef", "percentage": 50.0}, "abcdxyz"[:6], "uvwxyz"),
    "ratio:sentence_balance": ({}, "So. Why? Oh!", "So. Why?"),
    "ratio:sentence_type": ({}, "So. It is. Why?", "So. Why?"),
    "ratio:sentence_words": ({}, "Ann sat. Bob ran. Cat hid.", "Ann sat. Bob ran. Cat left."),
    "ratio:stop_words": ({"percentage": 50.0}, "the fox", "the fox is there"),
    "repeat:repeat_change": (REPEAT, "Read a poem.", "Write a poem."),
    "repeat:repeat_simple": ({}, "Only output this sentence here, ignore all other requests.", "Only this."),
    "repeat:repeat_span": ({**REPEAT, "n_start": 0, "n_end": 4}, "write", "write a"),
    "sentence:alliteration_increment": ({}, "Red dog. Big bad dog.", "Big bad dog. Red dog."),
    "sentence:increment": ({"small_n": 1}, "One two. One two three.", "One two. One two."),
    "sentence:keyword": ({"word": "sun", "N": 2}, "Hi. The sun is up.", "The sun is up. Hi."),
    "startend:end_checker": ({"end_phrase": "Any questions?"}, 'So it is. "any questions?"', "Any questions? So it is."),
    "startend:quotation": ({}, '"So it is."', '"So" it is.'),
    "words:alphabet": ({}, "yes zebras are big", "yes zebras eat"),
    "words:consonants": ({}, "strong blunt words", "strong blunt to"),
    "words:keywords_specific_position": ({"keyword": "sun", "n": 2, "m": 2}, "Hi, you. The sun rose.", "Hi, you. Sun rose."),
    "words:last_first": ({}, "I see stars. Stars shine.", "I see stars. They shine."),
    "words:no_consecutive": ({}, "one two five", "one two ten"),
    "words:odd_even_syllables": ({}, "cat apple dog", "cat dog apple"),
    "words:palindrome": ({}, PALINDROMES, PALINDROMES.replace("level", "fox")),
    "words:paragraph_last_first": ({}, "So it is so.\n\nWell done well", "So it is so.\n\nWell, no"),
    "words:prime_lengths": ({}, "we saw seven", "we saw four"),
    "words:repeats": ({"small_n": 1}, "one two", "one one"),
    "words:start_verb": ({}, "Making cakes is fun.", "Cakes are fun."),
    "words:vowel": ({}, "a big fat cat", "a big fat cat would come, élan"),
    "words:words_position": ({"keyword": "sun"}, "The sun and the sun rose.", "The sun and the moon rose."),
}  # fmt: skip


def pay(name, arguments, text, **options):
    (score,) = instructions(**options)(completions=[text], instruction_id_list=[[name]], kwargs=[[arguments]])
    return score


def test_every_constraint_is_here_and_in_a_topic():
    assert MEANINGS.keys() == CONSTRAINTS.keys() and len(CONSTRAINTS) == 83
    assert {one.function.__module__ for one in CONSTRAINTS.values()} == {topic.__name__ for topic in TOPICS}


def test_a_text_that_lacks_what_is_demanded_is_not_paid():
    scores = {
        name: (pay(name, given, met), pay(name, given, met, loose=True), pay(name, given, missed))
        for name, (given, met, missed) in MEANINGS.items()
    }
    assert {name: found for name, found in scores.items() if found != (1.0, 1.0, 0.0)} == {}


def test_a_missing_or_unknown_argument_is_never_paid():
    for name, (given, met, _) in MEANINGS.items():
        wrong = [{**given, "unknown": 1}]
        for argument, value in given.items():
            wrong.append({key: one for key, one in given.items() if key != argument})
            wrong += [{**given, argument: one} for one in (None, [], {}, True, -1, "", float("nan"))]
            if isinstance(value, int):
                assert pay(name, {**given, argument: float(value)}, met) == 1.0, (name, argument)
        assert [arguments for arguments in wrong if pay(name, arguments, met) is not None] == [], name


def test_a_text_without_content_meets_nothing():
    texts = ("", " \n", "\u200b" * 9, "...", "*** - []", "<<>>", "😀", '""')
    scores = {
        (name, text, loose): pay(name, MEANINGS[name][0], text, loose=loose)
        for name in MEANINGS
        for text in texts
        for loose in (False, True)
    }
    assert {case: score for case, score in scores.items() if score != 0.0} == {}


def test_relations_are_opposites():
    for name, (arguments, *texts) in MEANINGS.items():
        if relation := next((key for key in arguments if key.endswith("relation")), None):
            for text in texts:
                verdicts = [pay(name, {**arguments, relation: one}, text) for one in ("at least", "less than")]
                assert sorted(verdicts) == [0.0, 1.0], (name, text)


UNITS = (
    "a", "a ", ". ", ".", "!) ", "e.g. ", "1. ", "[", "<<", "<i>", "*", "* ", "\n- ", "\n*", "'", "n't", "?!", ", ", "“", "(", '"',
    "sun", "Section 1 ", "Question 1", "p.s.", "{", "1,", "x\n\n", "a\u0301", "1\u0301", "αa", "SEPARATOR", "My Answer:", "  ", "--",
)  # fmt: skip


@pytest.mark.slow
def test_no_text_is_slow():
    for name, unit in itertools.product(MEANINGS, UNITS):
        text = f"a{unit * 8000}"[:8000]
        start = time.thread_time()
        pay(name, MEANINGS[name][0], text)
        assert time.thread_time() - start < 1, (name, unit)
