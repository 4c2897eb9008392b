"""Draw the pictures of the page about speed (speed.md) from the records of benchmarks.

    python book/speed_pictures.py      figures/speed_length.svg, speed_share.svg, speed_beam.svg

Nothing is timed here: the programs in benchmarks/ write the records, and the newest of each counts; of a GPU, the
newest line of each figure.
"""

from collections.abc import Iterator

import seaborn

from dtglib.basics.files import repository
from dtglib.basics.record import Record, read_record
from dtglib.evaluate.measures import Line
from dtglib.families.base import titles
from dtglib.pictures.picture import BLUE, GREY, ORANGE, Picture, save, single
from dtglib.pictures.plot import make_logarithmic
from dtglib.runs.tables import benchmark


def curve(name: str, form: str) -> list[Line]:
    """The lines of one curve of growth.py, in the order of x."""
    record = benchmark("growth")
    lines = record.metrics if record else []
    wanted = (line for line in lines if (line.get("curve"), line.get("form")) == (name, form))
    return sorted(wanted, key=lambda line: line["x"])


def draw_length() -> Picture:
    """Time per position of training against the length of sentences, dense and by the definition in loops."""
    picture, axes = single(6, 3.2)
    for form, colour in (("in loops", ORANGE), ("dense", BLUE)):
        lines = curve("training", form)
        microseconds = [1e6 * line["seconds_taken"] / line["count"] for line in lines]
        axes.plot([line["x"] for line in lines], microseconds, marker="o", color=colour, label=form)
    axes.set(xlabel="words in a sentence", ylabel="microseconds per position")
    make_logarithmic(axes, "xy")
    axes.set(xticks=[5, 10, 20, 40, 80], ylim=(100, 50_000))
    axes.legend(frameon=False)
    return picture


def draw_beam() -> Picture:
    """Processor seconds of a beam search of one sentence by its widths, here and in the authors' release."""
    picture, axes = single(6, 3.2)
    record = benchmark("release")
    lines = [line for line in (record.metrics if record else []) if "form" in line]
    for form, colour in (("the authors' release", ORANGE), ("ours", BLUE)):
        of_form = [line for line in lines if line["form"] == form]
        seconds = [line["seconds_taken"] for line in of_form]
        axes.plot([line["beam"] for line in of_form], seconds, marker="o", color=colour, label=form)
    axes.set(xlabel="beam / word beam", ylabel="processor seconds for ten words")
    make_logarithmic(axes, "y")
    axes.legend(frameon=False)
    return picture


def shares() -> Iterator[tuple[str, str, float]]:
    """The machine, what was done, and the percentage of the rate of large matrix products that it reached."""
    training, search = benchmark("training"), benchmark("beam")
    for line in training.metrics if training else []:
        if "share" in line and "forward and backward" in line["what"]:
            yield _cores(training), f"training, {titles()[line['what'].split(':')[0]]}", 100 * line["share"]
    for line in search.metrics if search else []:
        if "times" in line and line["model"] == "dtg":
            what = f"search, DTG, beam {line['beam']}, sentences at once: {line['sentences']}"
            yield _cores(search), what, 100 / line["times"]
    visits = [read_record(folder) for folder in sorted((repository() / "benchmarks" / "records").glob("*-cuda"))]
    newest = {line["what"]: (line, visit) for visit in visits for line in visit.metrics}
    for what, (line, visit) in newest.items():
        if "share" in line:
            yield (
                f"{visit.about['hardware']['gpus'][0]}, bfloat16",
                f"training, {what.split(',')[0]}",
                100 * line["share"],
            )


def _cores(record: Record) -> str:
    return f"{record.config['cores']} cores of {record.about['hardware']['cpu']}, float32"


def draw_share() -> Picture:
    """Percentages of the rate of large matrix products, a bar for each figure and a colour for each machine."""
    rows = list(shares())
    machines = list(dict.fromkeys(machine for machine, _, _ in rows))
    picture, axes = single(6, 0.25 * len(rows) + 1.2)
    for machine, colour in zip(machines, seaborn.color_palette("colorblind", len(machines)), strict=True):
        places = [place for place, row in enumerate(rows) if row[0] == machine]
        bars = axes.barh(places, [rows[place][2] for place in places], color=colour, label=machine)
        axes.bar_label(bars, fmt="%.0f", padding=3, fontsize=9, color=GREY)
    axes.set(yticks=range(len(rows)), yticklabels=[what for _, what, _ in rows], xlim=(0, 100))
    axes.set_xlabel("% of the rate of large matrix products on the same machine")
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.2, 1.0))
    return picture


PICTURES = {"speed_length": draw_length, "speed_share": draw_share, "speed_beam": draw_beam}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        save(draw(), name)
