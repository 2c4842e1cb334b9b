"""How a check reads the objects of a column."""

from trl_grpo_rewards.verify.objects import read_objects


def test_equal_objects_have_the_same_reading_however_they_are_written():
    values = [
        '{"a": 1, "b": 2}',
        '```json\n{"b": 2, "a": 1}\n```',
        {"b": 2, "a": 1},
        ['{"a": 1}', {"b": 2}],
        "a: 1",
        None,
        [],
    ]
    readings = read_objects(values)
    assert [one.kind for one in readings] == [*["whole"] * 3, "any of several", *["not at all"] * 3]
    assert len({one.value for one in readings[:3]}) == 1
