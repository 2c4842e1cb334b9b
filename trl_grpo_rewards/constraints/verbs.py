"""The verbs that a text may begin with."""

BASES = frozenset(
    "accept achieve act adapt add address adjust admit adopt agree aim allow analyze answer apply approach argue arise "
    "arrange arrive ask assemble assert assess assign assume attend avoid awaken bake balance bathe be beat become begin "
    "behold believe bend bind blend bloom boil borrow bounce break breathe brew bring browse build burn bury buy "
    "calculate call capture carry cast catch celebrate change check choose chop claim clarify classify clean climb close "
    "collaborate collect combine come compare compile complete compose compute conceive conclude conduct confirm connect "
    "consider construct consult contain continue contrast contribute convert cook cover craft create cross cultivate cut "
    "dance dare deal decide declare define deliver demonstrate deny depend derive describe design detail determine "
    "develop dig direct discover discuss display distribute dive divide do draft draw dream drift drink drive drop earn "
    "eat edit eliminate embark embrace emerge employ empower enable encourage engage enhance enjoy ensure enter "
    "envision establish estimate evaluate examine execute exist expand expect experience explain explore express extend "
    "face fall feel fetch fight fill find finish fix flow fly fold follow forge forget form foster gather generate get "
    "give glide go grab grow guide handle happen harness have hear help hide highlight hold hope identify ignite "
    "illustrate imagine implement improve include increase inform ingest inspire install integrate introduce invest "
    "investigate invite invoke involve join journey jump keep kneel know launch lead lean learn leave let leverage lie "
    "light list listen live locate look lose love maintain make manage marinate measure meet memorize mention merge mix "
    "monitor move navigate need note notice obey observe obtain offer open operate optimize order organize outline "
    "overcome paint pause pay perform pick place plan plant play ponder pour practice predict prepare present preserve "
    "press prevent prioritize proceed process produce promote protect prove provide publish pull pulse pursue push put "
    "reach react read realize recall receive recognize recommend reconsider record reduce reflect regulate rejoice "
    "relax release rely remain remember remove repeat replace report represent request require research resist resolve "
    "respect respond rest return reveal review rise roast run satisfy save savor say scan schedule search see seek "
    "select sell send serve set shake shape share shift show shuffle sift simplify simulate sing sit sketch sleep solve "
    "sort spark speak specify spend spread stand start state stay step stir stop strengthen strive study submit suggest "
    "summarize support suppose survey swim take talk teach tell test thank think throw touch trace track train transform "
    "translate travel treat trust try turn type uncover understand unleash unlock unveil update use utilize validate "
    "value venture verify view visit visualize wait wake walk want wash watch wear weave welcome whip whir whisk whisper "
    "win wish wonder work write".split()
)
"""Common verbs that begin a sentence as a request, in their base form."""

IRREGULAR = frozenset(
    "am are is was were been being has had does did done said went gone got made knew thought took seen came gave found "
    "told became left felt brought began kept held wrote stood heard met ran paid sat spoke led grew lost fell sent "
    "built understood drew broke spent drove bought wore chose written taken given spoken broken chosen driven drawn "
    "born known shown hidden lying dying tied having".split()
)
"""Forms of verbs that no rule gives."""


def is_verb(word: str) -> bool:
    """Return whether a word in small letters is a common verb, in its base form or with `-s`, `-ed` or `-ing`."""
    return word in IRREGULAR or not BASES.isdisjoint(list_bases(word))


def list_bases(word: str) -> list[str]:
    """Return the base forms that a word may have, as in `stopped`, `tries` and `making`."""
    bases = [word]
    for ending in ("s", "es", "ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            bases += [stem, stem + "e"]
            bases += [stem[:-1]] * (stem[-1] == stem[-2]) + [stem[:-1] + "y"] * (stem[-1] == "i")
    return bases
