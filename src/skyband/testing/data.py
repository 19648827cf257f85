"""Ids that collide on purpose; rows are drawn by the module `draw` of a family's room."""

IDS = {
    "integer": [*range(-3, 24), 2**62],
    "text": ["", "a", "b", "ab", "é", "e\u0301", "猫", "😀", "\uffff", "z" * 40],
}
IDS["text"] += [f"p{i}" for i in range(16)]
