"""How well a publication answers a subscription: the scores of the papers, in plain Python.

These functions define the scores bit for bit: every engine must return exactly the float that the function here
returns, so the order of the additions is part of the definition.
"""

from skyband.scoring.place import place_and_words
from skyband.scoring.point import chebyshev, cosine, euclidean, norm, weighted_sum
from skyband.scoring.words import Words, tokenise

__all__ = [
    "Words",
    "chebyshev",
    "cosine",
    "euclidean",
    "norm",
    "place_and_words",
    "tokenise",
    "weighted_sum",
]
