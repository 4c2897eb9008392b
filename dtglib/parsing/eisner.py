"""The best projective tree of each sentence of a batch, by Eisner's algorithm (1996).

projective.py computes everything else with trees, and slower: it lists all options of all spans. Here only the best
option of a span is kept, so that a parser does not wait for its trees.

    >>> scores = np.zeros((1, 5, 5), np.float32)        # scores[sentence, word, head]; 0 is ROOT
    >>> scores[0, (1, 2, 3, 4), (2, 0, 4, 2)] = 1       # the arcs of "There is a difference"
    >>> best_heads(scores, np.array([4]))
    array([[2, 0, 4, 2]])
"""

import numpy as np

from dtglib.basics.jit import njit


@njit(nogil=True)
def best_heads(scores, lengths):
    """The heads of the words of each sentence, a row each; 0 after its end. Of equally good trees, any."""
    heads = np.zeros((len(scores), scores.shape[1] - 1), np.int64)
    for sentence in range(len(scores)):
        _best_heads(scores[sentence], lengths[sentence], heads[sentence])
    return heads


@njit(nogil=True)
def _best_heads(scores, words, heads):
    # Best scores, and where the spans of that score are split. An arc spans i..j in either direction; a half tree is a
    # word with all its descendants on one side: of i up to j (right), of j down to i (left).
    right, left, arc_right, arc_left = np.zeros((4, words + 1, words + 1))
    split, split_right, split_left = np.zeros((3, words + 1, words + 1), np.int64)
    for width in range(1, words):
        for i in range(1, words - width + 1):
            j = i + width
            best = -np.inf
            for k in range(i, j):  # the words up to k belong to i
                score = right[i, k] + left[k + 1, j]
                if score > best or k == i:
                    best, split[i, j] = score, k
            arc_right[i, j], arc_left[i, j] = best + scores[j, i], best + scores[i, j]
            best = -np.inf
            for k in range(i + 1, j + 1):  # the outermost dependent is k
                score = arc_right[i, k] + right[k, j]
                if score > best or k == i + 1:
                    best, split_right[i, j] = score, k
            right[i, j], best = best, -np.inf
            for k in range(i, j):
                score = left[i, k] + arc_left[k, j]
                if score > best or k == i:
                    best, split_left[i, j] = score, k
            left[i, j] = best
    best, root = -np.inf, 1
    for word in range(1, words + 1):
        score = left[1, word] + right[word, words] + scores[word, 0]
        if score > best:
            best, root = score, word
    # Follow the splits down. A span is (i, j, whether its head is i).
    spans = [(1, root, False), (root, words, True)]
    while spans:
        i, j, is_right = spans.pop()
        if i == j:
            continue
        if is_right:
            word, head = split_right[i, j], i
            first, last = i, word
            spans.append((word, j, True))
        else:
            word, head = split_left[i, j], j
            first, last = word, j
            spans.append((i, word, False))
        heads[word - 1] = head
        spans.append((first, split[first, last], True))
        spans.append((split[first, last] + 1, last, False))
