"""LeetCode's nodes of lists and trees, and the functions with which its tests build and compare them."""

from typing import Any


class ListNode:
    """A node of a linked list."""

    def __init__(self, val: Any = 0, next: "ListNode | None" = None) -> None:
        self.val, self.next = val, next


class TreeNode:
    """A node of a binary tree."""

    def __init__(self, val: Any = 0, left: "TreeNode | None" = None, right: "TreeNode | None" = None) -> None:
        self.val, self.left, self.right = val, left, right


def list_node(values: "list[Any]", kind: Any = ListNode) -> Any:
    """Return the first node of a linked list of these values."""
    first = None
    for value in reversed(values):
        node = kind(value)
        node.next = first
        first = node
    return first


def tree_node(values: "list[Any]", kind: Any = TreeNode) -> Any:
    """Return the root of the tree with these values in level order, in which None is a missing node."""
    nodes = [None if value is None else kind(value) for value in values]
    children = iter(nodes[1:])
    for parent in nodes:
        if parent is not None:
            parent.left, parent.right = next(children, None), next(children, None)
    return nodes[0] if nodes else None


def list_values(node: Any) -> "list[Any]":
    """Return the values of a linked list. A list that is a circle is cut where it begins again."""
    values, seen = [], set()
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        values.append(node.val)
        node = node.next
    return values


def tree_values(root: Any) -> "list[Any]":
    """Return the values of a tree in level order, without missing nodes at the end."""
    values, level = [], [root]
    for node in level:
        values.append(node and node.val)
        level += [node.left, node.right] if node else []
    while values and values[-1] is None:
        values.pop()
    return values


def is_same_list(one: Any, other: Any) -> bool:
    """Return whether two linked lists have the same values."""
    return list_values(one) == list_values(other)


def is_same_tree(one: Any, other: Any) -> bool:
    """Return whether two trees have the same values in the same places."""
    return tree_values(one) == tree_values(other)
