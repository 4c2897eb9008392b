"""What the models of several papers have in common with those of DTG: no labels without arcs, and data in files."""

import pytest
from conftest import slow
from test_stored import (  # noqa: F401 (fixtures)
    check_examples_in_files,
    folders_of_sizes,
    repository,
    settings,
    with_little_memory,
)

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family
from dtglib.runs.prepare import prepare


@pytest.mark.parametrize("name", ["tg", "pushdown", "gilt"])
def test_models_without_dependency_arcs_have_no_labels(name):
    kind, treebank = family(name), load("minilang", "train", 5)
    with pytest.raises(UserError, match="draws no arcs that could have labels; set labels to false, or take dtg"):
        plain = Vocabulary.of_words(sentence.words for sentence in treebank.sentences)
        kind.vocabulary(kind.config(name, labels=True), plain, treebank)


@pytest.mark.parametrize("model", slow(["plm-mask", "pushdown"]))
def test_examples_are_the_same_in_files_as_in_memory(model, repository, request):  # noqa: F811
    check_examples_in_files(settings(repository, model=model, longest=60), request)


@pytest.mark.usefixtures("with_little_memory")
def test_models_of_all_sizes_share_the_sequences_of_a_large_corpus(repository):  # noqa: F811
    assert folders_of_sizes(repository, "pushdown") == 1


@pytest.mark.usefixtures("with_little_memory")
def test_whoever_needs_all_graphs_gets_them_in_memory(repository):  # noqa: F811
    whole, graphs = load("minilang", "train", 40), prepare(settings(repository, model="gilt")).train
    assert (len(graphs), graphs.names) == (40, [sentence.id for sentence in whole.sentences])
