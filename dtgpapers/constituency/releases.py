"""The released models of brackets, and the parser that proposes their trees."""

from dtglib.runs.release import MINILANG, Release

RELEASES = {f"{model}-minilang": Release(MINILANG, model) for model in ("plm", "tg")} | {
    "spans-minilang": Release(MINILANG, parser="spans")
}
