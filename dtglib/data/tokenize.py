r"""Turn raw English text into the words of a treebank, and back.

    >>> tokenize("There isn't a difference.")
    ['There', 'is', "n't", 'a', 'difference', '.']
    >>> detokenize(['There', 'is', "n't", 'a', 'difference', '.'])
    "There isn't a difference."

BLiMP writes "isn't" as one word, treebanks as two, and a model must be tested on words like its training words. The
conventions are those of UD English EWT and GUM, which descend from the Penn Treebank's: clitics and punctuation are
words of their own (`did n't`, `ca n't`, `John 's`, `can not`), a known abbreviation keeps its period (`Mr.`, `U.S.`),
and hyphenated compounds are split (`well - known`) except after a prefix (`ex-wife`, `non-profit`). The Penn Treebank
of 1993, and so BLLIP, keeps `well-known` whole; in BLiMP only `ex-` stands before a hyphen.

One regular expression, `WORD`, reads the text from left to right. On the dev parts of EWT and GUM it gives the
treebank's words for 94 and 98 % of the sentences, NLTK's treebank tokeniser for 83 and 87 %: that one keeps hyphens,
splits "!!" and mail addresses, does not know "don’t" with a typographic apostrophe, and changes tokenised text.

Text that is already tokenised is returned unchanged, including the Penn Treebank's `-LRB-`, `` and ''. This always
holds for the output of `tokenize` itself, because `WORD` looks beyond white space only to see whether a number
follows or the text ends. It cannot hold for every sentence of a treebank (it does for 98 % of EWT and GUM): the
annotators kept "Tuesday's" as one word where a plural was meant, and some addresses and file names whole. The final
period of the text is a word of its own even after an abbreviation, except after `etc.` or a dotted one like `U.S.`.
"""

import re
from collections.abc import Sequence

# EWT and GUM keep these prefixes with their word at least twice as often as not; `vice - president` is split.
PREFIXES = "anti co counter cross e ex mid mini multi non over post pre pro re semi sub"

ABBREVIATIONS = """
    Mr Mrs Ms Dr Prof Rev Gen Col Lt Sgt Capt Gov Sen Rep Reps Hon St Ft Mt Ave Blvd Rd Jr Sr Inc Corp Co Ltd Bros
    Jan Feb Aug Sept Sep Oct Nov Dec Tue Tues Wed Thur Thurs Fri vs eg ie ca approx vol Vol esp ext yrs Assoc
"""

# Soft hyphens, zero-width spaces and the like: a word with one inside would look like a known word and be unknown.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))


def _any(words: str) -> str:
    return "|".join(words.split())


_END = r"(?!(?!(?i:n['’]t))\w)"  # the end of a word: no letter follows, except those of "n't"
_NOT = rf"(?i:n['’]t){_END}"
_CLITIC = rf"['’](?i:s|m|d|ll|re|ve){_END}"
_UNIT = rf"(?:am|pm|AM|PM|k|K|m|M|b|bn|mm|cm|km|kg|ft|C|F){_END}"
_LETTER = r"[^\W\d_]"
# A combining accent belongs to its letter. Every run stops where a clitic begins.
_RUN = rf"(?:(?!{_NOT})[\w\u0300-\u036f])+"

# The first alternative that matches wins. White space satisfies every lookaround: a word that is found inside "(this),"
# must be found again when it stands alone. All lookarounds are short, so the time is linear in the length of the text.
WORD = re.compile(
    rf"""
    (?!\s)(?:                                                             # white space is slow, if all is tried there
      (?<!\w)(?!(?i:can|gon|wan|got|haf|need))[A-Za-z]+(?=[\s,;])         # most words, first: the rest is slow
    | -[LR][RSC]B-                                                        # brackets of the Penn Treebank
    | (?:https?://|www\.)[^\s<>"]*[^\s<>"'’”.,;:!?)\]]
    | [\w.+-]{{0,64}}@{_LETTER}[\w-]*(?:\.\w[\w-]*)*                      # name@example.com, @name
    | (?<!\w)\#{_LETTER}\w*                                               # #hashtag
    | (?:[:;=]'?-?[()DP]|<3){_END}                                        # :-)
    | {_NOT} | (?:(?<=[\w.])|(?<!\S)){_CLITIC}                            # is|n't, John|'s
    | (?<!\S)['’](?i:em|cause|til|cuz){_END} | (?<!\w)['’]\d\ds?{_END}    # 'em, '90s
    | (?<!\w)(?i:can(?=not{_END})|(?:gon|wan)(?=na{_END})|(?:got|haf|need)(?=ta{_END}))
    | (?:(?:\d-)?\d{{3}}-)?\d{{3}}-\d{{4}}{_END} | \d{{5}}-\d{{4}}{_END}  # telephone numbers, zip codes
    | \d{{1,2}}-\d{{1,2}}-\d{{2,4}}{_END} | \d+(?:/\d+)+{_END}            # 3-11-2004, 3/11/2004, 1/2
    | (?<!\w)[+.]?\d+(?:,\d{{3}}(?!\d)|[.:]\d+)*
      (?:(?:st|nd|rd|th|s|(?<=0)['’]s)?{_END}|(?={_UNIT}))                # 1,000.50, 9:30|pm, 21st, 1960's
    | (?<!\w)(?:(?:{_LETTER}\.){{2,}}|(?:etc|al|Ph\.D)\.){_END}           # U.S., p.m.
    | (?<!\w)(?:[A-HJ-Z]|{_any(ABBREVIATIONS)})\.{_END}(?!\s*$)           # J. Smith, Mr. Smith
    | (?<!\w)No\.(?=\s*\d)
    | (?<!\w)(?i:s/he|w/o){_END}
    | (?:(?<!\w)(?i:{_any(PREFIXES)})-(?=\w))?
      {_RUN}(?:(?:[.&]|(?!{_CLITIC})['’]){_RUN})*                         # difference, O'Neill, AT&T, example.com
      (?:-(?!\S))?                                                        # a word that was broken o-
    | [.!?…]+ | [()\[\]{{}}] | (?P<sign>[^\w\s])(?P=sign)*)
    """,
    re.VERBOSE,
)


def tokenize(text: str) -> list[str]:
    """The words of a raw sentence as a treebank would write them; an empty list for white space alone."""
    return [match.group() for match in WORD.finditer(text.translate(INVISIBLE))]


_TO_THE_LEFT = re.compile(rf"{_NOT}|{_CLITIC}|[.,;:!?…]+|[)\]}}%”’»]|''|-R[RSC]B-")
_TO_THE_RIGHT = re.compile(r"[(\[{$#“‘«]|``|-L[RSC]B-")
_TO_BOTH = {"-", "/"}
_FUSED = {("gon", "na"), ("wan", "na"), ("got", "ta"), ("haf", "ta"), ("need", "ta")}


def detokenize(words: Sequence[str]) -> str:
    """Write words as running text, for display. The spaces are guessed, and most guesses are right."""
    pieces, glue, quotes = [], True, dict.fromkeys("\"'", 0)
    for position, word in enumerate(words):
        before = words[position - 1].lower() if position else ""
        opening = bool(_TO_THE_RIGHT.fullmatch(word))
        closing = bool(_TO_THE_LEFT.fullmatch(word)) or (before, word.lower()) in _FUSED
        if word in quotes:
            # Straight quotes come in pairs; a single one is a possessive ("the dogs' tails") or closes a quotation.
            quotes[word] += 1
            opening = quotes[word] % 2 == 1 and (words.count(word) > 1 or position == 0)
            closing = not opening
        pieces.append(word if glue or closing or word in _TO_BOTH else f" {word}")
        glue = opening or word in _TO_BOTH
    return "".join(pieces)
