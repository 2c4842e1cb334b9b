"""The table of public sets: where each is, who labelled it, and which of our rewards judges it."""

from pathlib import Path

from . import answer_sets, program_sets, row_sets
from .rows import LabelledSet


MATHCODER = ("mathllm/MathCoder", "d6c91fbd8c02ad9f9669423f4ff331dc1605d126")
RHO = ("microsoft/rho", "32965907a2aa71192e8b760fe6391b7c5246d4dc")
QWEN = ("QwenLM/Qwen2.5-Math", "a45202bd16f1ec06f433442dc1152d0074773465")
OCTOPACK = ("bigcode-project/octopack", "e17a8f6470264286bc6a52eb8263582083bf3bf6")
MXEVAL = ("amazon-science/mxeval", "e09974f990eeaf0c0e8f2b5eaff4be66effb2c86")
CHERRL = ("THUAIS-Lab/CHERRL", "830082ae22f9b6ff589e3bbbc0c2c126e3c23a37")
IFBENCH = ("allenai/IFBench", "db69a6f05689830b0068b8f1529ebcfd2f3b164c")

RULE = "the authors' own rule for answers"
OWN = "right by itself: the solution's own text"
RUN = "the authors' tests, which the solutions are meant to pass"
HUMANEVAL_PACK = ("evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl",)


def make_mathcoder(task: str, title: str, remark: str = "") -> LabelledSet:
    return LabelledSet(
        f"mathcoder-{task.lower()}",
        f"MathCoder, {title}",
        "answers",
        *MATHCODER,
        tuple(f"outs/MathCoder-L-7*b/{task}/*-{label}.jsonl" for label in ("correct", "wrong")),
        RULE,
        "boxed()",
        answer_sets.read_mathcoder(task),
        remark=remark,
    )


def make_rho(task: str, title: str, gold: str, remark: str = "") -> LabelledSet:
    return LabelledSet(
        f"rho-{task.replace('_', '-')}",
        f"rho, {title}",
        "answers",
        *RHO,
        ("rho-1/outputs.zip",),
        RULE,
        "answer()",
        answer_sets.read_rho(task, gold),
        remark=remark,
    )


def make_own_text(name: str, title: str, file: str, gold: str = "answer") -> LabelledSet:
    read = answer_sets.read_own_text(f"evaluation/data/{file}", gold)
    remark = "A solution that our reward cannot read leaves its row unjudged. The others refuse or pay it."
    files = (f"evaluation/data/{file}",)
    return LabelledSet(name, title, "answers", *QWEN, files, OWN, "boxed()", read, remark=remark)


def make_solutions(name: str, title: str, file: str) -> LabelledSet:
    read = program_sets.read_solutions(file, "canonical_solution", "test")
    remark = "The solutions that both refuse fail their own tests."
    return LabelledSet(name, title, "programs", *MXEVAL, (file,), RUN, "code()", read, remark=remark)


def make_constraints(
    name: str, title: str, repository: tuple[str, str], prompts: str, verdicts: str, reward: str
) -> LabelledSet:
    read = row_sets.read_constraints(prompts, verdicts)
    files, labels = (verdicts, prompts), "the official program, published with the responses of one model"
    remark = "docs/judges.md says where our verdicts differ on purpose."
    return LabelledSet(name, title, "instructions", *repository, files, labels, reward, read, remark=remark)


SETS = (
    LabelledSet(
        "gsm8k-models",
        "GSM8K, solutions of four models",
        "answers",
        "openai/grade-school-math",
        "3101c7d5072418e28b9008a6636bde82a006892c",
        ("grade_school_math/data/example_model_solutions.jsonl",),
        "the authors",
        "answer()",
        answer_sets.read_grade_school,
        remark='The solutions end in a line such as "A: 18". TRL, open-r1 and verifiers read only LaTeX or a box, so they refuse all.',
    ),
    LabelledSet(
        "hard-verify",
        "HardVerify-Math, right and wrong answers to hard questions",
        "answers",
        "uw-nsl/TinyV",
        "4a9d2c720c161e2ccc0e492cc59ed5f9c226ec5f",
        ("benchmarks/HardVerify-Math.json",),
        "people",
        "boxed()",
        answer_sets.read_hard_verify,
    ),
    make_rho("minerva_math", "four models on MATH-500", "answer"),
    make_rho(
        "gsm8k",
        "four models on GSM8K",
        "gt",
        "Some solutions end without stating an answer. The labels and math-verify take the last number of such a text, and "
        "our reward refuses it. TRL, open-r1 and verifiers read only LaTeX or a box, which two of the models do not write.",
    ),
    make_mathcoder("GSM8K", "GSM8K"),
    make_mathcoder("SVAMP", "SVAMP"),
    make_mathcoder("mathematics", "questions made by a program"),
    make_mathcoder(
        "simuleq",
        "systems of equations",
        "Most questions ask for two unknowns, and the solution has one of them. Answers with a box for each unknown are read "
        "as a list, which does not equal the solution. The label is right if the first box is the solution.",
    ),
    LabelledSet(
        "math-verify-tests",
        "math-verify's own tests",
        "answers",
        "huggingface/Math-Verify",
        "5d148cfaaf99214c2e4ffb4bc497ab042c592a7a",
        ("tests/test_all.py", "tests/test_*.py"),
        "the authors of math-verify, which passes these tests",
        "answer()",
        answer_sets.read_math_verify,
        remark="Most of our refusals are prose without a stated answer, of which math-verify takes the last expression. These are math-verify's own tests, so it passes nearly all of them.",
    ),
    LabelledSet(
        "math-golds",
        "MATH, solutions that are not real numbers, in a box",
        "answers",
        "MARIO-Math-Reasoning/MARIO_EVAL",
        "13584f20b71ffc6e9873e86481054849ed015065",
        ("data/math_testset_annotation.json",),
        OWN,
        "boxed()",
        answer_sets.read_mario,
    ),
    LabelledSet(
        "math-500",
        "MATH-500, worked solutions",
        "answers",
        "ZubinGou/math-evaluation-harness",
        "db77bc6bb2a17c90ed2d63e88ebd8c40a82858c5",
        ("data/math_oai/test.jsonl",),
        OWN,
        "boxed()",
        answer_sets.read_own_text("data/math_oai/test.jsonl", "answer", "solution"),
    ),
    make_own_text("olympiad-golds", "OlympiadBench, solutions in a box", "olympiadbench/test.jsonl", "final_answer"),
    make_own_text("college-golds", "College Math, 700 solutions in a box", "college_math/test.jsonl"),
    LabelledSet(
        "humaneval-pack",
        "HumanEvalPack, solutions with and without a bug",
        "programs",
        *OCTOPACK,
        HUMANEVAL_PACK,
        "people, who put in the bugs",
        "code()",
        program_sets.read_humaneval_pack,
    ),
    LabelledSet(
        "quixbugs",
        "QuixBugs, algorithms with and without a bug",
        "programs",
        "jkoppel/QuixBugs",
        "4257f44b0ff1181dedaedee6a447e133219fcebf",
        ("json_testcases/*.json", "python_testcases/*.py", "python_programs/*.py", "correct_python_programs/*.py"),
        "people, who put in the bugs",
        "code()",
        program_sets.read_quixbugs,
    ),
    LabelledSet(
        "refactory",
        "Refactory, what students handed in",
        "programs",
        "githubhuyang/refactory",
        "f05583a56c2e3c50aa8cc0327645283f27df3a68",
        ("data.zip",),
        "the course's tests",
        "code()",
        program_sets.read_refactory,
        remark="The first 100 right and the first 100 wrong programs of each exercise.",
    ),
    LabelledSet(
        "cruxeval",
        "CRUXEval, predicted outputs of programs",
        "programs",
        "facebookresearch/cruxeval",
        "190faf16d175b5847b0af05d937872b1fb395942",
        ("data/cruxeval.jsonl", "samples/evaluation_results/sample_scored_codellama-7b_temp0.2_output.json"),
        "the authors, by running the programs",
        "code()",
        program_sets.read_cruxeval,
    ),
    make_solutions("mbpp-solutions", "MBPP, solutions", "data/mbxp/mbpp_release_v1.jsonl"),
    make_solutions(
        "mathqa-solutions", "MathQA, solutions in Python", "data/multilingual_mathqa/mathqa-test-python_v1.jsonl"
    ),
    LabelledSet(
        "class-eval",
        "ClassEval, solutions",
        "programs",
        "FudanSELab/ClassEval",
        "eaeac44d0d5dcd8a95feec50726d66fedc73a98f",
        ("data/ClassEval_data.json",),
        RUN,
        "code(packages=('numpy',), timeout=20.0)",
        program_sets.read_class_eval,
        remark="The jail has no other package than numpy here, no files and no network. One process has files.",
    ),
    LabelledSet(
        "leetcode",
        "LeetCodeDataset, solutions",
        "programs",
        "newfacade/LeetCodeDataset",
        "182cd19fd53161efd70a1ef074fe1056b659bfa3",
        ("data/LeetCodeDataset-v0.3.1-test.jsonl.gz",),
        RUN,
        "code(packages=('sortedcontainers',), timeout=20.0)",
        program_sets.read_solutions("data/LeetCodeDataset-v0.3.1-test.jsonl.gz", "completion", "test"),
    ),
    LabelledSet(
        "hacks",
        "Programs that solve nothing, for the tests of HumanEvalPack",
        "programs",
        *OCTOPACK,
        HUMANEVAL_PACK,
        "we wrote the programs",
        "code()",
        program_sets.read_hacks,
        made=True,
    ),
    LabelledSet(
        "bfcl",
        "BFCL, calls of models",
        "tools",
        "HuanzhiMao/BFCL-Result",
        "b4adfc9be5e0c65e8dbb1340c689688eb92a9379",
        (f"{row_sets.BFCL}/result/*/*.json", f"{row_sets.BFCL}/score/*/*.json"),
        "the official checker",
        "tool_calls(compare={'*': 'text'})",
        row_sets.read_bfcl,
        remark="Of our refusals, 384 are calls of one model that writes Python literals instead of JSON. Three calls leave out an argument that the function requires and the solution does not; our reward does not read the schema of functions.",
    ),
    LabelledSet(
        "api-bank",
        "API-Bank, expected calls",
        "tools",
        "qiancheng0/ToolRL",
        "8cee13ec0ca72f0461da372a93a6fd8140dbb840",
        ("benchmarks/API-Bank/level-*-api_processed.json",),
        OWN,
        "tool_calls()",
        row_sets.read_api_bank,
    ),
    *(
        make_constraints(f"ifeval-{way}", f"IFEval, {way}", CHERRL, prompts, f"{folder}_{way}.jsonl", reward)
        for prompts, folder in [
            ("evaluation/IF-EVAL/data/input_data.jsonl", "evaluation/IF-EVAL/data/eval_results"),
        ]
        for way, reward in (("strict", "instructions()"), ("loose", "instructions(loose=True)"))
    ),
    *(
        make_constraints(
            f"ifbench-{way}",
            f"IFBench, {way}",
            IFBENCH,
            "data/IFBench_test.jsonl",
            f"eval/eval_results_{way}.jsonl",
            reward,
        )
        for way, reward in (("strict", "instructions()"), ("loose", "instructions(loose=True)"))
    ),
)


def find_sets(folders: list[Path]) -> list[tuple[LabelledSet, Path]]:
    """Return the sets that the folders have, each with its folder, in the order of the table."""
    return [(one, folder) for one in SETS for folder in folders if any(folder.glob(one.files[0]))]
