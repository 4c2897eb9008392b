"""German clauses: the same parts are written with the finite verb second, or last.

main clause       Der Vater | hat | den Ball nicht gern gebracht        front, finite verb, predicate
subordinate       weil | der Vater | den Ball nicht gern gebracht | hat
"""

from dataclasses import dataclass

from dtgpapers.translation.german.nominal import Nominal, Token, comma
from dtgpapers.translation.german.verb_phrase import Argument, Need, NoCounterpartError, VerbPhrase, written


@dataclass(eq=False, slots=True)
class Clause:
    """A clause with a finite verb."""

    phrase: VerbPhrase
    subject: Nominal | None = None
    opening: Token | None = None  # weil, dass, ob, warum
    label: str = "ccomp"  # of the clause
    opening_label: str = "mark"
    filler: Nominal | None = None  # the fronted phrase of a question or relative clause
    fronted: "Clause | None" = None  # a clause in front of the finite verb
    front: "Argument | Token | None" = None  # an object or adverb in front of it
    followed: "Clause | None" = None  # an adverbial clause at the end
    conjunct: "tuple[Token, bool, Clause] | None" = None  # with whether a comma is before it
    number: str | None = None  # of the verb, if it is not the subject's

    @property
    def head(self) -> Token:
        """The head of the predicate."""
        return self.phrase.head

    def write(self, tense: str = "past", main: bool = False) -> list[Token]:
        """The words; `tense` is that of the clause around, for a clause without its own."""
        phrase = self.phrase
        tense = phrase.tense or tense
        number = self.number or (self.subject.number if self.subject and phrase.subject_case == "nom" else "sg")
        inherited = "pres" if tense == "subj" else tense
        words = self._before(inherited)
        verb, body, tail = phrase.write(Need("fin", tense, number), fronted=main)
        front = self._front(inherited) if main else []
        subject = self._subject(inherited)
        if front and body and body[0].form == "sich" and self.subject and not self.subject.is_light:
            verb = [*verb, body.pop(0)]  # "heute wäscht sich der Mann", but "heute wäscht er sich"
        words += front + verb + subject if front else subject + verb
        words += [*body, *tail]
        if self.followed:
            words += self.followed.between_commas(inherited)
            self.followed.head.hang(self.head, self.followed.label)
        if self.conjunct:
            conjunction, with_comma, other = self.conjunct
            words += [comma(other.head)] if with_comma else []
            words += [conjunction.hang(other.head, "cc"), *other.write(inherited, main=True)]
            other.head.hang(self.head, "conj")
        return words

    def _before(self, tense: str) -> list[Token]:
        """The conjunction, question word or fronted phrase that opens the clause."""
        words = [self.opening.hang(self.head, self.opening_label)] if self.opening else []
        if self.filler:
            if self.phrase.gap is None:
                raise NoCounterpartError("a fronted phrase without a place")
            words += self.phrase.gap.write(self.filler, tense)
        return words

    def _subject(self, tense: str) -> list[Token]:
        if not self.subject:
            return []
        words = self.subject.write(self.phrase.subject_case, tense)
        self.subject.head.hang(self.head, "expl" if self.subject.kind == "expletive" else self.phrase.subject_label)
        return words

    def _front(self, tense: str) -> list[Token]:
        """The words before the finite verb, if they are not the subject."""
        if self.fronted:
            words = self.fronted.between_commas(tense)
            self.fronted.head.hang(self.head, self.fronted.label)
            return words
        if isinstance(self.front, Argument):
            words = written(self.front.phrase, self.front.case, self.front.preposition, tense)
            self.front.phrase.head.hang(self.head, self.front.label)
            return words
        return [self.front.hang(self.head, "advmod")] if self.front else []

    def between_commas(self, tense: str) -> list[Token]:
        """The words of a subordinate clause; commas that meet, or that open or end the sentence, are dropped later."""
        return [comma(self.head), *self.write("pres" if tense == "subj" else tense or "past"), comma(self.head)]

    def write_after(self, head: Token, tense: str) -> list[Token]:
        """A relative clause behind its noun."""
        words = self.between_commas(tense)
        self.head.hang(head, "acl:relcl")
        return words
