"""LeetCode's nodes, and the names that programs have without an import."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.inside import prelude as nodes
from trl_grpo_rewards.programs.inside.prelude import NODES, PRELUDES


@given(st.lists(st.integers()))
def test_lists(values):
    assert nodes.list_values(nodes.list_node(values)) == values
    assert NODES["is_same_list"](nodes.list_node(values), nodes.list_node(values))
    assert not NODES["is_same_list"](nodes.list_node(values), nodes.list_node([*values, 1]))


def test_trees():
    for values in ([], [1], [1, None, 2], [1, 2, 3, None, 4], [1, None, 2, 3]):
        assert nodes.tree_values(nodes.tree_node(values)) == values
    root = nodes.tree_node([1, None, 2, 3])
    assert root.left is None and root.right.val == 2 and root.right.left.val == 3
    assert not NODES["is_same_tree"](root, nodes.tree_node([1, None, 2, None, 3]))


def test_a_list_that_is_a_circle_ends():
    first = nodes.list_node([1, 2])
    first.next.next = first
    assert nodes.list_values(first) == [1, 2]


def test_preludes():
    assert {"math", "collections", "re"} <= {*PRELUDES["usual"]}
    assert {"List", "math", "ListNode"} <= {*PRELUDES["usual"]} and "gcd" not in PRELUDES["usual"]
    assert {"gcd", "heappop", "Counter", "List"} <= {*PRELUDES["contest"]}
    assert PRELUDES["contest"]["pow"] is pow  # that of math has two parameters
