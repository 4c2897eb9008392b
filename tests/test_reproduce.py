"""Notebooks are run in order, each once, and nothing half-done looks done."""

import contextlib
import shutil

import nbformat
import pytest
import torch
from running import elsewhere

import dtglib.basics.papers
from dtglib.basics.errors import UserError
from dtglib.basics.papers import Paper, papers_named
from dtglib.basics.record import read_record
from dtglib.runs.jobs import Job
from dtglib.runs.reproduce import reproduce


@pytest.fixture
def repository(tmp_path, monkeypatch, one_thread):
    """A tiny repository with one notebook, whose second cell is the test's to fill; run by one process."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "smoke.yaml").write_text("seed: 1\ncorpus: minilang\n")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "figures").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_notebook(repository, source, name="00_first"):
    parameters = nbformat.v4.new_code_cell('size = "unset"', metadata={"tags": ["parameters"]})
    cells = [parameters, nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), repository / "notebooks" / f"{name}.ipynb")
    (repository / "notebooks" / f"{name}.py").write_text("# the other half\n")


@pytest.fixture
def without_kernels(monkeypatch):
    """Notebooks run in this process: a kernel takes seconds to start (test_execute.py is about kernels)."""

    def execute(notebook, size, folder, label):
        for cell in nbformat.read(notebook, 4).cells:
            exec(cell.source, {})
        shutil.copy(notebook, folder / notebook.name)
        return []

    monkeypatch.setattr("dtglib.runs.reproduce.execute", execute)


def test_each_paper_has_its_notebooks(repository, without_kernels, monkeypatch, capsys):
    first, letters = papers_named("dtg")[0], Paper("letters", families=(), notebooks="1")
    monkeypatch.setattr(dtglib.basics.papers, "papers", lambda: (first, letters))
    for name in ("01_first", "10_relative", "90_last"):
        write_notebook(repository, "", name)
    reproduce("smoke")
    runs = repository / "runs" / "smoke"
    assert sorted(path.name for path in runs.glob("[0-9]*")) == ["01_first", "90_last"]
    reproduce("smoke", "letters")
    assert sorted(path.name for path in runs.glob("[0-9]*")) == ["01_first", "10_relative", "90_last"]
    capsys.readouterr()
    reproduce("smoke", "all")
    assert capsys.readouterr().out.count("up to date") == 3
    with pytest.raises(UserError, match=r"^there are no notebooks of a paper 'words'; papers are dtg, letters; or"):
        reproduce("smoke", "words")


def test_a_notebook_is_run_with_its_size_and_kept_and_not_run_again(repository, capsys):
    write_notebook(repository, "print('size is', size); open('ran', 'a').write('x')")
    reproduce("smoke")
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "x"
    assert "size is smoke" in (repository / "runs" / "smoke" / "00_first" / "00_first.html").read_text()
    assert "00_first: up to date" in capsys.readouterr().out
    assert not list((repository / "runs").rglob("running.ipynb"))
    reproduce("smoke", again=True)
    assert (repository / "notebooks" / "ran").read_text() == "xx"


def test_a_changed_notebook_or_config_is_run_again(repository, without_kernels):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    write_notebook(repository, "open('ran', 'a').write('y')")
    reproduce("smoke")
    (repository / "configs" / "smoke.yaml").write_text("seed: 2\ncorpus: minilang\n")
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xyy"


def test_a_new_record_or_parser_or_a_changed_corpus_of_ones_own_is_a_reason_to_run_again(repository, without_kernels):
    mine = repository / "mine.conllu"
    mine.write_text("1\tThere\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    (repository / "configs" / "smoke.yaml").write_text(f"corpus: {mine}\n")
    write_notebook(repository, "open('ran', 'a').write('x')")
    records = "results/2026-01-01-mini/metrics.jsonl", "benchmarks/records/2026-01-01-120000-beam/metrics.jsonl"
    for path in (*records, "configs/parsers/strong.yaml", "configs/mini.yaml", "mine.conllu"):
        reproduce("smoke")
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        with open(repository / path, "a") as file:
            file.write("\n")
    for _ in range(2):
        reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xxxxxx"


def test_models_are_trained_between_the_notebooks_that_read_none_and_those_that_read_some(
    repository, without_kernels, monkeypatch, capsys
):
    for name, source in (("03_reads", "1 + 1"), ("04_reads", "2 + 2"), ("06_reads_none", "3 + 3")):
        write_notebook(repository, source, name)
    for name in ("03_reads", "04_reads"):
        (repository / "notebooks" / f"{name}.py").write_text("folder = trained(settings)\n")

    def work_through(jobs, folder):
        print("jobs are", *(job.name for job in jobs))
        return ["04_reads"]

    monkeypatch.setattr("dtglib.runs.pool.work_through", work_through)
    monkeypatch.setattr("dtglib.runs.jobs.jobs_of", lambda size, paper: [Job(f"train {paper}", print)] * 2)
    reproduce("smoke")
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "jobs are 06_reads_none train dtg 03_reads 04_reads"
    assert others[:2] == ["[1/1] 04_reads: running", "[1/1] 04_reads: done"], "what the pool did not do"
    (repository / "runs" / "smoke" / "04_reads" / "record.json").unlink()
    reproduce("smoke")
    assert "jobs are 06_reads_none 03_reads 04_reads" in capsys.readouterr().out, "models are not trained again"


OTHER = "import time; open(own, 'w').close(); [time.sleep(0.1) for _ in range(600) if not os.path.exists(other)]"


# Slow: that reproduce gives the pool its notebooks, and that a pool works side by side, is tested by itself.
@pytest.mark.slow
def test_notebooks_are_run_side_by_side(repository, monkeypatch, capsys):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for own, other in (("00_first", "01_second"), ("01_second", "00_first")):
        write_notebook(
            repository, f"import os; own, other = {own!r}, {other!r}; {OTHER}; assert os.path.exists(other)", own
        )
    reproduce("smoke")
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[1] for line in lines if ", done" in line) == ["00_first:", "01_second:"]


# Slow: it starts kernels.
@pytest.mark.slow
def test_the_tables_of_a_notebook_are_printed_before_the_next_is_run(repository, capsys):
    write_notebook(repository, "'a table'", "00_first")
    path = repository / "notebooks" / "00_first.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[1].metadata["tags"] = ["table"]
    nbformat.write(notebook, path)
    write_notebook(repository, "2 + 2", "01_second")
    for _ in range(2):  # the second time both are up to date
        reproduce("smoke")
        printed = capsys.readouterr().out
        assert printed.index("00_first: ") < printed.index("'a table'") < printed.index("01_second: ")


def test_recorded_times_of_notebooks_are_no_reason_to_run_again(repository, without_kernels):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    (repository / "benchmarks" / "records").mkdir(parents=True)
    (repository / "benchmarks" / "records" / "reproduce.csv").write_text("size,notebook,seconds,cores,started\n")
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "x"


def test_a_failing_notebook_names_its_cell_and_keeps_what_was_finished(repository):
    write_notebook(repository, "print('fine')", "00_first")
    write_notebook(repository, "raise ValueError('no trees here')", "01_second")
    with pytest.raises(UserError, match=r"01_second\.ipynb, cell 2: ValueError: no trees here"):
        reproduce("smoke")
    runs = repository / "runs" / "smoke"
    assert read_record(runs / "00_first").about["status"] == "finished"
    assert read_record(runs / "01_second").about["status"] == "failed"


def test_a_damaged_record_vouches_for_nothing(repository, without_kernels):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    (repository / "runs" / "smoke" / "00_first" / "record.json").write_text('{"status": "fini')
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xx"


def test_an_unknown_size_names_the_known_ones(repository):
    write_notebook(repository, "pass")
    for odd in ("huge", "../configs/smoke", ""):
        with pytest.raises(UserError, match=f"there is no size {odd!r}; sizes are smoke"):
            reproduce(odd)


def test_a_result_that_somebody_deleted_is_made_again(repository, without_kernels):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    (repository / "runs" / "smoke" / "00_first" / "00_first.ipynb").unlink()
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xx"


def test_a_mistake_in_the_config_is_found_before_anything_runs(repository):
    write_notebook(repository, "open('ran', 'a').write('x')")
    (repository / "configs" / "smoke.yaml").write_text("corpus: minilang\nseeds: 1\n")
    with pytest.raises(UserError, match=r"smoke\.yaml: .*seeds"):
        reproduce("smoke")
    assert not (repository / "notebooks" / "ran").exists()


@pytest.mark.parametrize(
    ("corpus", "complaint"),
    [
        ("bllip", "bllip: set BLLIP to your copy of LDC2000T43"),
        ("ud-english", r"ud-english: .* set DTG_DATA to .*/nowhere"),
    ],
)
def test_a_corpus_that_is_not_at_hand_stops_only_the_notebook_that_wants_it(
    repository, without_kernels, monkeypatch, corpus, complaint
):
    monkeypatch.delenv("BLLIP", raising=False)
    monkeypatch.setenv("DTG_DATA", "/nowhere")
    write_notebook(repository, "open('ran', 'a').write('x')", "00_first")
    write_notebook(repository, f"from dtglib.data.corpora import load; load({corpus!r}, 'train')", "01_second")
    with pytest.raises(UserError, match=f"^{complaint}"):
        reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "x"


def reproduce_there(repository, printed):
    """What is printed goes to a file."""
    with open(repository / printed, "w") as file, contextlib.chdir(repository), contextlib.redirect_stdout(file):
        reproduce("smoke")


# Slow: two processes with kernels.
@pytest.mark.slow
def test_a_second_run_waits_for_the_first(repository):
    write_notebook(repository, "import time; time.sleep(1); open('ran', 'a').write('x')")
    assert elsewhere(*((reproduce_there, repository, printed) for printed in "ab")) == [0, 0]
    assert (repository / "notebooks" / "ran").read_text() == "x"
    assert sorted("up to date" in (repository / printed).read_text() for printed in "ab") == [False, True]


# Slow: it starts a kernel.
@pytest.mark.slow
def test_the_record_tells_the_memory_of_the_kernel(repository):
    write_notebook(repository, "block = bytearray(700 * 2**20)")
    reproduce("smoke")
    about = read_record(repository / "runs" / "smoke" / "00_first").about
    assert about["peak_memory_bytes"] > 700 * 2**20
