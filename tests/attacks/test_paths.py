"""Names that no file can have, and pipes: an error that says so, at once or soon."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core import inputs
from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.files import folder_written_whole, read_stored, write_text
from evenhand.data.corpora import sentences
from evenhand.data.corpus_sources import corpus_sources
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.label_schemes import load_scheme
from evenhand.data.labelled import load_labelled
from evenhand.data.winogender import occupation_shares
from evenhand.heads.articles import ArticleCounts, read_articles
from evenhand.heads.pairs import open_next_sentence_pairs
from evenhand.heads.workflow import open_next_sentence_training
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs
from evenhand.mitigation.texts import text_sources
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import read_mitigation_record
from evenhand.studio.survey.definition import load_survey

NAMES = {
    "a name of 5,000 characters": "n" * 5000,
    "a path of 6,000 characters": "a/" * 3000,
    "a name with a zero character": "a\0b",
    "a name with half of a surrogate pair": "a\ud800b",
}


def write_folder(name: str) -> None:
    with folder_written_whole(Path(name)):
        pass


READERS: dict[str, Callable[[str], object]] = {
    "dataset": eh.load_dataset,
    "dataset in a language": lambda name: eh.load_dataset(name, language="en"),
    "run": eh.open_run,
    "model": eh.load,
    "adapter": lambda name: eh.load(ModelRef(id="lab:masked", device="cpu", adapters=(name,))),
    "twin pairs": lambda name: list(read_twin_pairs(name)),
    "file of twin pairs": lambda name: eh.build_pairs(Path(__file__), name),
    "next-sentence pairs": open_next_sentence_pairs,
    "next-sentence head": lambda name: open_next_sentence_training(Path(name)),
    "probes": lambda name: eh.load_probes("en", structures=name),
    "scores": lambda name: eh.evaluate(name, "starter"),
    "dataset of scores": lambda name: eh.evaluate(eh.example_scores("leaning"), name),
    "certificate": eh.read_certificate,
    "scheme": load_scheme,
    "scheme file": lambda name: load_scheme(f"{name}.yaml"),
    "survey": lambda name: load_survey(f"{name}.yaml"),
    "corpus": lambda name: list(sentences(name)),
    "corpus sources": lambda name: corpus_sources([name]),
    "dataset of the hub": lambda name: corpus_sources([f"hub:{name}"]),
    "sentence pairs": load_pairs,
    "labelled text": load_labelled,
    "texts": lambda name: text_sources([name]),
    "mitigation": lambda name: read_mitigation_record(Path(name)),
    "shares": occupation_shares,
    "stored file": lambda name: read_stored(Path(name), error=EvenhandError),
    "written file": lambda name: write_text(Path(name), "x"),
    "written folder": write_folder,
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_file_can_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvenhandError):
        READERS[read](NAMES[name])
    assert list(tmp_path.iterdir()) == []


def test_the_message_shows_the_beginning_of_a_long_name() -> None:
    with pytest.raises(EvenhandError) as caught:
        inputs.checked_path("n" * 5000, error=EvenhandError)
    assert str(caught.value) == (
        f"'{'n' * 80}'... names no file: it has 5,000 characters, more than the system takes. Correct the name."
    )


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def dump_of(pipe: Path) -> Path:
    return pipe.rename(pipe.with_name("dump.xml"))


PIPE_READERS: dict[str, Callable[[Path], object]] = {
    "scores": lambda pipe: eh.evaluate(pipe, "starter"),
    "dataset": lambda pipe: eh.load_dataset(pipe.rename(pipe.with_name("en.json"))),
    "corpus": lambda pipe: list(sentences(pipe)),
    "dump": lambda pipe: list(
        read_articles(corpus_sources([dump_of(pipe)]).sources[0], language="en", counts=ArticleCounts())
    ),
    "scheme": lambda pipe: load_scheme(pipe.rename(pipe.with_name("scheme.yaml"))),
    "labelled text": lambda pipe: load_labelled(pipe.rename(pipe.with_name("text.tsv"))),
    "texts": lambda pipe: list(text_sources([pipe])[0].open()),
    "shares": lambda pipe: occupation_shares(pipe.rename(pipe.with_name("shares.tsv"))),
}


@pytest.mark.parametrize("read", PIPE_READERS)
def test_a_pipe_that_nobody_writes_into_is_refused(
    pipe: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    monkeypatch.setattr(inputs, "_WRITER_PATIENCE", 0.05)
    with pytest.raises(EvenhandError, match="it is a pipe, and nobody writes into it"):
        PIPE_READERS[read](pipe)


def test_a_pipe_is_read_where_somebody_writes(pipe: Path) -> None:
    writer = threading.Thread(target=pipe.write_text, args=("One sentence. Another one.\n",))
    writer.start()
    assert list(sentences(pipe)) == ["One sentence.", "Another one."]
    writer.join()


def test_a_writer_that_takes_its_time_is_waited_for(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_WRITER_PATIENCE", 0.0)
    both_ends = os.open(pipe, os.O_RDWR)
    with inputs.open_input(pipe) as stream:
        os.write(both_ends, b"One sentence.\n")
        os.close(both_ends)
        assert stream.read() == b"One sentence.\n"


def test_what_was_written_before_is_read(pipe: Path) -> None:
    both_ends = os.open(pipe, os.O_RDWR)
    os.write(both_ends, b"One sentence.\n")
    with inputs.open_input(pipe) as stream:
        os.close(both_ends)
        assert stream.read() == b"One sentence.\n"


def test_nothing_is_left_open_by_what_was_refused(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_WRITER_PATIENCE", 0.0)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(BrokenPipeError):
            inputs.open_input(pipe)
        with pytest.raises(IsADirectoryError):
            inputs.open_input(pipe.parent)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_pipes_in_a_folder_of_text_are_passed_over(pipe: Path) -> None:
    pipe.rename(pipe.with_name("pipe.txt"))
    (pipe.parent / "a.txt").write_text("One sentence.\n")
    began = time.monotonic()
    assert list(sentences(pipe.parent)) == ["One sentence."]
    assert time.monotonic() - began < 5


def test_a_text_file_whose_name_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"f\xfcr.txt")).write_text("She is a nurse. He is a nurse.\n")
    with pytest.raises(DatasetError, match=r"f\\udcfcr\.txt' is not UTF-8, so no record can hold it"):
        eh.build_pairs(tmp_path, tmp_path / "pairs.jsonl")
    assert [path.suffix for path in tmp_path.iterdir()] == [".txt"]


def test_a_folder_of_text_that_cannot_be_looked_into_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "a.txt").write_text("She came.\n")
    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(DatasetError, match=r"a\.txt cannot be read: Permission denied"):
        list(sentences(tmp_path))
