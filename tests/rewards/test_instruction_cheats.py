"""Texts that look for the cheapest way to be paid for a constraint. A person would pay none of them."""

import pytest

from trl_grpo_rewards import instructions


ZERO_WIDTH = "\u200b"
REPEAT = {"prompt_to_repeat": "Write a poem."}
OFTEN = {"keyword": "sun", "frequency": 5, "relation": "at least"}
RARE = {"keyword": "sun", "frequency": 1, "relation": "less than"}
LETTERS = {"letter": "q", "let_frequency": 6, "let_relation": "at least"}
NO_LETTER = {"letter": "e", "let_frequency": 1, "let_relation": "less than"}
FORBIDDEN = {"forbidden_words": ["secret"]}
WORDS = {"num_words": 5, "relation": "at least"}
FEW_WORDS = {"num_words": 3, "relation": "less than"}
SENTENCES = {"num_sentences": 3, "relation": "at least"}
FEW_SENTENCES = {"num_sentences": 2, "relation": "less than"}
SECTIONS = {"section_spliter": "Section", "num_sections": 3}
PARAGRAPHS = {"num_paragraphs": 3}
FIRST_WORD = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "sun"}
CAPITALS = {"capital_frequency": 3, "capital_relation": "at least"}
RANGE = {"min_words": 4, "max_words": 6}
KEYWORDS = dict(zip((f"keyword{place}" for place in range(1, 6)), ("ant", "bee", "cow", "dog", "elk"), strict=True))
OPTIONS = {"options": "yes/no/maybe"}

CHEATS = {
    "keywords:existence": ({"keywords": ["sun", "moon"]}, ["s\u200bu\u200bn", "sun mоon", "the keywords", "s u n m o o n"]),
    "keywords:frequency": (OFTEN, ["sun sun sun sun sun", "sun, sun, sun. Sun! SUN", "sun" * 5, "sun\nsun\nsun\nsun\nsun", "sun x5"]),
    "keywords:letter_frequency": (LETTERS, ["qqqqqq", "A qqqqqqqqqqqqqq", "6 times", "ԛ ԛ ԛ ԛ ԛ ԛ x"]),
    "keywords:forbidden_words": (FORBIDDEN, ["A se\u200bcret", "A sеcret", "A ｓｅｃｒｅｔ", "A SECRET", "A s\u00adecret", "A 𝒔𝒆𝒄𝒓𝒆𝒕", "A s\u0332e\u0332cret", "A secret\u2060"]),
    "length_constraints:number_words": (WORDS, ["one" + "\u200b \u200b" * 9, ". " * 9, "one - - - - -", "onetwothreefourfive", "\u200b one \ufeff two " + ZERO_WIDTH * 9, "🙂 🙂 🙂 🙂 🙂"]),
    "length_constraints:number_sentences": (SENTENCES, ["One two three", "One.\u200bTwo.\u200bThree.", "Dr. Mr. Ms.", "3.1.4.1.5", "..."]),
    "length_constraints:number_paragraphs": (PARAGRAPHS, ["one\n***\n***\ntwo", "***\n***\n***", "one\n***\n.\n***\ntwo", "one\n***\n\u200b\n***\ntwo", "one\n\ntwo\n\nthree"]),
    "length_constraints:nth_paragraph_first_word": (FIRST_WORD, ["sun", "one\n\n\n\nsun", "one\n\nsunny day", "sun one\n\ntwo", "one\nsun two"]),
    "detectable_content:number_placeholders": ({"num_placeholders": 3}, ["Fill: [] [] []", "Fill: [ ] [ ] [ ]", "Fill: [\u200b] [\u200b] [\u200b]", "Fill: [a\n]\n[b\n]\n[c\n]", "Fill: [[[a]]]"]),
    "detectable_content:postscript": ({"postscript_marker": "P.S."}, ["Bye. P.S.", "Bye.\nP.S. ...", "Bye.\nP.S.\n\u200b"]),
    "detectable_format:number_bullet_lists": ({"num_bullets": 3}, ["So\n-\n-\n-", "So\n* \n* \n* ", "So * one * two * three", "So\n- \u200b\n- \u200b\n- \u200b"]),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 3}, ["So ** ** ** **", "So *.* *.* *.*", "So ******", "So *\u200b* *\u200b* *\u200b*", "So *one\n* *\ntwo*"]),
    "detectable_format:multiple_sections": (SECTIONS, ["Section 1 Section 2 Section 3", "So Section 1.\nSection 2.\nSection 3.", "So Section 1\n\u200b\nSection 2\n\u200b\nSection 3 \u200b", "Section one Section two Section three"]),
    "detectable_format:title": ({}, ["<<>> So", "<< >> So", "<<.>> So", "<<\u200b>> So", "<<\nA title\n>>", "<A title>"]),
    "detectable_format:json_format": ({}, ["{}", "[]", '""', "null,", '```json\n{"a": 1}\n``` Done', "{'a': 1}", "[" * 5000 + "a"]),
    "detectable_format:constrained_response": ({}, ["My answer is yes. My answer is no. My answer is maybe.", "My answer is yes. Or: My answer is no.", "My answer is yеs."]),
    "combination:two_responses": ({}, ["Same.\n******\nSame.", "Same.\n******\nsame!", "Same.\n******\n  S\u200bame.", "******\nOne\n******", "One\n******\n\n******\nTwo"]),
    "combination:repeat_prompt": (REPEAT, ["Write a poem.", "Write a poem. ...", "So: Write a poem. Roses", "Write a poem.\u200b"]),
    "startend:quotation": ({}, ['"', '""', '"."', '"\u200b"', '"So', "“So”"]),
    "startend:end_checker": ({"end_phrase": "The end."}, ["The end. So", "The end", "The еnd."]),
    "punctuation:no_comma": ({}, ["one， two", "one、 two", "one، two", "one‚\u200b, two", "one﹐ two", "one︐ two"]),
    "change_case:english_capital": ({}, ["123 456!", "A\u200b1 2 3 b", "ÇA VA BIEN MERCI ET VOUS MES CHERS AMIS", "ПРИВЕТ КАК ДЕЛА СЕГОДНЯ"]),
    "change_case:english_lowercase": ({}, ["123 456!", "bonjour mes amis, comment allez vous aujourd'hui", "今天天气很好 a"]),
    "change_case:capital_word_frequency": (CAPITALS, ["1 2 3", "So \u200b \u200b \u200b", "**THE** end", "Ａｂ Ｃｄ Ｅｆ"]),
    "language:response_language": ({"language": "de"}, ["12345 67890", "1 😀 2", "This answer is in German: the weather is nice today, and we went for a walk", "de"]),
    "count:word_count_range": (RANGE, ["one", "\u200b \u200b \u200b \u200b", "one two three" + " \u200b." * 3, "one two three four five six seven"]),
    "count:unique_word_count": ({"N": 4}, ["so So SO so.", "so \u200bso s\u200bo so\ufeff", "so, so! (so) 'so'"]),
    "count:conjunctions": ({"small_n": 4}, ["and And AND and,", "and but. But, and; AND", "andbutfornor"]),
    "count:person_names": ({"N": 2}, ["Emma Emma Emma", "Emmas Liams", "emma liam"]),
    "count:numbers": ({"N": 3}, ["1.2.3", "1,2,3", "one two three"]),
    "count:pronouns": ({"N": 3}, ["item thesis hero", "it\u200bit\u200bit a", "theythey"]),
    "count:punctuation": ({}, ["?! . , ; : a", ".,!?;: a"]),
    "count:keywords_multiple": (KEYWORDS, ["ant bee cow dog elk", "ant bee bee cow cow cow dog x5 elk x7"]),
    "count:words_japanese": ({"N": 2}, ["The cat is", "The Chinese is Japanese", "The"]),
    "ratio:sentence_type": ({}, ["So it is", "So\nit\nis", "Oh! No!"]),
    "ratio:sentence_balance": ({}, ["So it is", "So, it is:"]),
    "ratio:sentence_words": ({}, ["Aaa. Aaa. Aaa.", "It is so. It is no. It is yo."]),
    "sentence:increment": ({"small_n": 2}, ["One", "One two three\nfour"]),
    "sentence:alliteration_increment": ({}, ["One", "Red rose\nBig bad bear"]),
    "sentence:keyword": ({"word": "sun", "N": 2}, ["sun", "The sun. Sunny.", "Sun sun sun sun"]),
    "words:last_first": ({}, ["One", "One two\nThree four\nFive"]),
    "words:palindrome": ({}, ["level " * 12, "Level, LEVEL. level! " * 6, "l\u200bevel " * 10, "a b c d e f g h i j"]),
    "words:odd_even_syllables": ({}, ["One", "cat"]),
    "words:alphabet": ({}, ["a", "ant cat"]),
    "words:no_consecutive": ({}, ["a", "ant ape"]),
    "words:vowel": ({}, ["A bé í ó ú", "a e\n\ni o"]),
    "words:consonants": ({}, ["a str", "str \u200bo"]),
    "words:keywords_specific_position": ({"keyword": "sun", "n": 1, "m": 3}, ["sun", "the, sun.", "sun sun"]),
    "format:no_whitespace": ({}, ["one\u00a0two", "one\u2800two", "one\u3000two", "one\ttwo"]),
    "format:line_indent": ({}, ["One", "One\n\u200b\u200btwo", "One\n\n\n"]),
    "format:list": ({"sep": "SEPARATOR"}, ["SEPARATOR SEPARATOR", "a SEPARATOR SEPARATOR", "SEPARATOR . SEPARATOR one"]),
    "format:sub-bullets": ({}, ["So it is", "* a well-known one", "* one - two", "* one\n-"]),
    "format:no_bullets_bullets": ({}, ["One. Two.\n*\n*", "* one\n* two", "One. Two.\n* one"]),
    "format:output_template": ({}, ["My Answer: My Conclusion: Future Outlook:", "My Answer: a My Conclusion: Future Outlook: b", "My Answer: a My Answer: b My Answer: c"]),
    "format:thesis": ({}, ["<i></i> So", "<i> </i> So", "<i>So</i>", "<i>So it is", "<i>.</i> So", "<em>So</em>"]),
    "format:options": (OPTIONS, ["yes no maybe", "yes/no/maybe", "yes, because", "y\u0435s"]),
    "format:parentheses": ({}, ["(((((a", "((((a))))", "a)))))"]),
    "format:quotes": ({}, ["\"'\"a", "\"a\" 'b' \"c\""]),
    "repeat:repeat_change": (REPEAT, ["Write a poem.", "Write  a  poem.", "Write a poem.\n"]),
    "custom:reverse_newline": ({}, ["Zimbabwe\n" * 60, "Zimbabwe"]),
    "custom:date_format_list": ({}, ["1800-02-31", "1800-00-00", "2000-01-01"]),
    "custom:multiples": ({}, ["14 to 49", "7 14 21 28 35 42 49"]),
}  # fmt: skip

EACH = [(name, given, text) for name, (given, texts) in CHEATS.items() for text in texts]


def pay(names, arguments, text, **options):
    (score,) = instructions(**options)(completions=[text], instruction_id_list=[names], kwargs=[arguments])
    return score


def test_there_are_many():
    assert len(EACH) > 200


def test_no_cheat_is_paid():
    for name, given, text in EACH:
        assert pay([name], [given], text) == pay([name], [given], text, partial=True) == 0.0, (name, text)


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b", "\u2060\ufeff", "\u3164", "\u2800", ".", "***", "😀", "<think>a b c d e f</think>", "<think>So"])  # fmt: skip
def test_nothing_is_paid_for_nothing(text, loose):
    for name, (given, _) in CHEATS.items():
        assert pay([name], [given], text, loose=loose) == 0.0, name


def test_no_constraints_are_not_paid():
    for names, arguments in (([], []), (None, None), ("[]", "[]"), ("", "")):
        assert pay(names, arguments, "So it is.") is None


def test_constraints_that_forbid_are_not_met_by_hiding():
    for name, given in (
        ("length_constraints:number_words", FEW_WORDS),
        ("length_constraints:number_sentences", FEW_SENTENCES),
    ):
        assert pay([name], [given], "One. Two. Three.") == pay([name], [given], "O\u200bne. Two\u2060. Three.") == 0.0
    assert pay(["keywords:letter_frequency"], [NO_LETTER], "Thе sun") == 0.0  # with a Cyrillic letter
    assert pay(["keywords:frequency"], [RARE], "the s\u200bun") == 0.0
