"""The stack tape by its definition, on constituents that are lists; tape.py computes the same on integers.

>>> simulate([1, 2, 3, 1])                               # There (is (a difference))
[[0], [0, 0], [0, 0, 0], [1, 2, 3, 3]]
>>> simulate([1, 1, 3, 2])                               # (The dog) (is happy)
[[0], [1, 1], [1, 1, 0], [2, 2, 2, 2]]
"""

from collections.abc import Sequence


def simulate(attachments: Sequence[int], pieces: Sequence[int] | None = None) -> list[list[int]]:
    """The tape when each piece is read; a tape is as long as what is read."""
    pieces = [1] * len(attachments) if pieces is None else pieces
    depth: list[int] = []  # of every piece
    word_of: list[int] = []  # the word that it belongs to
    stack: list[list[int]] = []  # constituents side by side, as lists of pieces
    rows = []
    for word, (to, count) in enumerate(zip(attachments, pieces, strict=True), start=1):
        for piece in range(count):
            here = len(depth)
            word_of.append(word)
            if piece:
                depth.append(depth[-1])
                stack[-1].append(here)
            else:
                depth.append(0)
                new, is_merged = [here], to == word
                while not is_merged:
                    item = stack.pop()
                    is_merged = word_of[item[-1]] == to
                    new = item + new
                    for one in new:
                        depth[one] += 1
                stack.append(new)
            rows.append(list(depth))
    return rows
