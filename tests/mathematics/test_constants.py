from trl_grpo_rewards.mathematics.equivalence import are_same_up_to_constants
from trl_grpo_rewards.mathematics.grammar import read


FAMILIES = {
    True: "x^2+C # x^2+5+C, C_1e^x+C_2e^{-x} # Ae^{-x}+Be^x, \\ln|2x|+C # \\ln|x|+C",
    False: "x^2+C # x^2+5, x+C # 2x+C, ax^2+bx+c # ax^2+bx+C, Ce^x # Ae^x, 2x # 3x, C_1e^x+C_2e^{-x} # Ae^x+Be^{x}",
}


def test_constants_may_be_renamed_shifted_and_combined():
    for verdict, pairs in FAMILIES.items():
        for pair in pairs.split(", "):
            assert are_same_up_to_constants(*([read(text)] for text in pair.split(" # "))) is verdict, pair


def test_the_parts_of_an_answer_share_their_constants():
    golds = [read("C_1e^t"), read("2C_1e^t")]
    assert are_same_up_to_constants(golds, [read("Ke^t"), read("2Ke^t")])
    assert not are_same_up_to_constants(golds, [read("Ke^t"), read("5Ke^t")])
