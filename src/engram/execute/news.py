"""What a worker has to be told of a node: the lessons since one that it knows. Whole paths would be more and more to
tell."""

from __future__ import annotations

from typing import Any

from engram.nodes import Node


class Teller:
    """Who tells one worker of nodes, and remembers of which."""

    def __init__(self) -> None:
        self.told: set[str] = set()

    def news(self, node: Node) -> list[Any]:
        """As JSON: a node that the worker knows (or an untrained one), and the lessons since."""
        growths = []
        while node.depth and node.key not in self.told:
            self.told.add(node.key)
            growths.append(node.last.to_json())
            node = node.parent
        return [node.key if node.depth else node.to_json(), growths[::-1]]


class Listener:
    """The worker, who is told."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def node(self, start: str | dict[str, Any], growths: list[list[Any]]) -> Node:
        """The node that some lessons make of one that was named before, or of one that is described."""
        known = self.nodes[start] if isinstance(start, str) else Node.from_json(start)
        nodes = known.lineage(growths)
        self.nodes |= {node.key: node for node in nodes if node.depth}
        return nodes[-1]
