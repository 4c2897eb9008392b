"""The German side of minilang: translations of its derivations.

    Mary knows that the old dog sleeps .  ->  Mary weiß , dass der alte Hund schläft .

Writing:  grammar.yaml has a `de:` side for every rule; transfer.py carries them out, with the operations of
nominal_rules.py, verbal_rules.py and predicate_rules.py; nominal.py, verb_phrase.py and clause.py order and inflect the
words, by morphology.py and lexicon.yaml. The tests read German by a recogniser that knows nothing of English.

What there is: nominative, accusative and dative (a genitive only of names), three genders, weak, strong and mixed
adjectives, weak nouns, verbs second and last, separable and reflexive verbs, verbs with dative or prepositional
objects, modal verbs, perfect with `haben` and `sein`, passives, infinitives with `zu`, relative clauses and questions,
object-first and adverb-first main clauses, and contractions (im, am, ans, ins, beim, vom), which are one word here and
do not occur before a relative clause. What there is not: compounds (one English word is one German word), articles of
the genitive, first and second persons, relative clauses that leave their noun, and what is listed in
`NoCounterpartError`s: such sentences are left out of the pairs, and counted.

Read first: transfer.py, then verb_phrase.py.
"""
