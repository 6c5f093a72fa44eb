"""From files to pairs: every sentence once, both sides equal, every sentence accounted for, the same bytes always."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_swapper import DOUBTFUL, FEMALE, MALE
from small_corpus import PROBES, TEXTS, options, write_corpus

from evenhand.core.errors import DatasetError, OutputError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.data.corpus_sources import TextFile, corpus_sources
from evenhand.mitigation.pairs.building import (
    NothingFoundError,
    PairOptions,
    build_pairs,
    counts_path,
)
from evenhand.mitigation.pairs.counts import PairCounts
from evenhand.mitigation.pairs.matching import EVALUATION, NO_OCCUPATION, NO_TERM, REPEATED
from evenhand.mitigation.pairs.searching import SourceSearcher, in_processes, in_this_process
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs
from evenhand.store.jobs import leftovers
from evenhand.text.swappers import Role


def build(paths: list[Path], out: Path, **changes: object) -> PairCounts:
    chosen = options(**changes)
    return build_pairs(corpus_sources(paths).sources, out, options=chosen)


def words_in(sentences: list[str]) -> Counter[str]:
    return Counter(word for sentence in sentences for word in re.findall(r"\w+", sentence))


def test_a_small_corpus_gives_the_pairs_that_it_should(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl")
    pairs = list(read_twin_pairs(tmp_path / "pairs.jsonl"))

    assert {pair.sentences for pair in pairs} == {
        ("He was a doctor.", "She was a doctor."),
        ("He was a nurse and she him doctor.", "She was a nurse and he her doctor."),
        ("Our dad is his own doctor.", "Our mum is hers own doctor."),
        ("James saw the nurse.", "Mary saw the nurse."),
        ("Robert saw the nurse.", "Patricia saw the nurse."),
        ("Michael saw the nurse.", "Jennifer saw the nurse."),
        ("James saw her, the police officer.", "Mary saw him, the police officer."),
        ("Robert saw her, the police officer.", "Patricia saw him, the police officer."),
        ("Michael saw her, the police officer.", "Jennifer saw him, the police officer."),
        ("James, Robert and the doctor met.", "Mary, Patricia and the doctor met."),
        ("Robert, Michael and the doctor met.", "Patricia, Jennifer and the doctor met."),
        ("Michael, James and the doctor met.", "Jennifer, Mary and the doctor met."),
    }
    assert len(pairs) == counts.pairs == 12
    assert counts.originals.model_dump() == {"male": 4, "female": 3, "neither": 5}
    assert counts.names.model_dump() == {"sentences": 4, "repeated": 4, "pool": 10, "kept": 9}


def test_every_sentence_is_found_or_left_out_for_a_reason(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl")

    assert counts.sentences == sum(map(len, TEXTS.values())) == 18
    assert counts.found == 7
    assert counts.left_out == {REPEATED: 4, NO_OCCUPATION: 3, EVALUATION: 2, NO_TERM: 1, DOUBTFUL: 1}
    assert counts.overlap == 2
    assert [source.sentences for source in counts.sources] == [8, 8, 2]


def test_counts_before_are_those_of_the_corpus_and_after_are_equal(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl")
    pairs = list(read_twin_pairs(tmp_path / "pairs.jsonl"))
    found = words_in(
        ["He was a doctor", "She was a nurse and he her doctor", "Our dad is his own doctor", "James saw the nurse",
         "Mary saw him, the police officer", "James, Robert and the doctor met", "Patricia saw the nurse"]
    )  # fmt: skip
    written = words_in([sentence for pair in pairs for sentence in pair.sentences])

    def often(counter: Counter[str], word: str) -> int:
        return counter[word] + (counter[word.capitalize()] if word.islower() else 0)

    assert {(term.male, term.female) for term in counts.terms} == {
        ("he", "she"), ("him", "her"), ("his", "hers"), ("dad", "mum"), ("James", "Mary"), ("Robert", "Patricia"),
        ("Michael", "Jennifer"),
    }  # fmt: skip
    for term in counts.terms:
        assert (term.before.male, term.before.female) == (often(found, term.male), often(found, term.female))
        assert (term.after.male, term.after.female) == (
            often(written, term.male),
            often(written, term.female),
        )
        assert term.after.male == term.after.female


def test_counts_by_occupation_are_those_of_its_sentences(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl")
    pairs = list(read_twin_pairs(tmp_path / "pairs.jsonl"))

    sentences = {row.occupation: (row.before.male, row.before.female) for row in counts.occupations}
    assert sentences == {"doctor": (3, 1), "nurse": (1, 2), "police officer": (0, 1)}
    for row in counts.occupations:
        there = [pair for pair in pairs if row.occupation in pair.male]
        assert (row.after.male, row.after.female) == (len(there), len(there))
    for cell in counts.occupation_terms:
        texts = [text for pair in pairs for text in pair.sentences if cell.occupation in text]
        written = words_in([text.lower() for text in texts])
        assert (cell.after.male, cell.after.female) == (
            written[cell.male.lower()],
            written[cell.female.lower()],
        )
    by_cell = {
        (cell.occupation, cell.male): (cell.before.male, cell.before.female)
        for cell in counts.occupation_terms
    }
    assert by_cell[("doctor", "he")] == (2, 1)
    assert by_cell[("nurse", "he")] == (1, 1)
    assert by_cell[("nurse", "Robert")] == (0, 1)
    assert {cell.role for cell in counts.occupation_terms} == {Role.SUBJECT, Role.POSSESSIVE, Role.NAME}


def test_counts_by_experiment(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl")

    assert [
        (row.experiment, row.found.male, row.found.female, row.pairs) for row in counts.by_experiment
    ] == [
        ("he-she", 1, 1, 2),
        ("his-her", 1, 0, 1),
        ("names", 2, 2, 9),
    ]


WORDS = [*MALE, *FEMALE, "He", "she", "doctor", "nurse", "theirs", "a", "James", "Mary"]


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), max_size=8), min_size=1, max_size=3
    ),
    size=st.integers(0, 12),
    seed=st.integers(0, 3),
)  # fmt: skip
def test_any_corpus_gives_equal_sides_without_a_sentence_twice(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[list[str]]], size: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    paths = [folder / f"{number}.txt" for number in range(len(files))]
    for path, sentences in zip(paths, files, strict=True):
        path.write_text("".join(f"{' '.join(words)}.\n" for words in sentences), encoding="utf-8")
    try:
        counts = build(paths, folder / "pairs.jsonl", names_sample=size, seed=seed)
    except NothingFoundError:
        assert not (folder / "pairs.jsonl").exists()
        return
    pairs = list(read_twin_pairs(folder / "pairs.jsonl"))
    texts = [text.casefold() for pair in pairs for text in pair.sentences]
    written = words_in([text for pair in pairs for text in pair.sentences])

    assert len(texts) == len(set(texts)) == 2 * counts.pairs
    assert counts.found + sum(counts.left_out.values()) == counts.sentences == sum(map(len, files))
    assert written["James"] == written["Mary"]
    assert written["he"] + written["He"] == written["she"] + written["She"]
    assert sum(pair.experiments == (Experiment.NAMES,) for pair in pairs) <= size
    assert all(term.after.male == term.after.female for term in counts.terms)


def test_names_are_sampled_down_by_the_seed_whatever_the_order_of_the_files(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path / "corpus")
    drawn = []
    for number, (order, seed) in enumerate([(paths, 1), (paths[::-1], 1), (paths, 2), (paths, 3)]):
        out = tmp_path / f"{number}.jsonl"
        counts = build(order, out, names_sample=4, seed=seed)
        named = [pair for pair in read_twin_pairs(out) if pair.experiments == (Experiment.NAMES,)]
        drawn.append(frozenset(pair.sentences for pair in named))
        assert (counts.pairs, counts.names.pool, counts.names.kept) == (7, 10, 4)

    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_names_of_sentences_that_are_kept_for_another_experiment_come_on_top(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("James said he saw the nurse.\n")

    counts = build([tmp_path / "a.txt"], tmp_path / "pairs.jsonl", names_sample=1)
    pairs = list(read_twin_pairs(tmp_path / "pairs.jsonl"))

    assert pairs[0].experiments == (Experiment.HE_SHE, Experiment.NAMES)
    assert pairs[1].experiments == (Experiment.NAMES,)
    assert (counts.names.pool, counts.names.kept, counts.pairs) == (2, 1, 2)


def test_without_the_names_experiment_nothing_is_repeated(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "c"), tmp_path / "pairs.jsonl", experiments=(Experiment.HE_SHE,))

    assert (counts.pairs, counts.originals.neither, counts.names.pool) == (2, 0, 0)


@pytest.mark.parametrize("searcher", [in_processes(2), in_processes(9)], ids=["2 processes", "9 processes"])
def test_the_bytes_do_not_depend_on_the_number_of_processes(tmp_path: Path, searcher: SourceSearcher) -> None:
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources
    told: list[tuple[int, int]] = []

    build_pairs(sources, tmp_path / "one.jsonl", options=options(), searcher=in_this_process)
    build_pairs(sources, tmp_path / "many.jsonl", options=options(), searcher=searcher,
                report=lambda *progress: told.append(progress))  # fmt: skip

    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "many.jsonl").read_bytes()
    assert (
        counts_path(tmp_path / "one.jsonl").read_bytes() == counts_path(tmp_path / "many.jsonl").read_bytes()
    )
    assert told[-1] == (sum(source.size for source in sources),) * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "corpus", "many.counts.json", "many.jsonl", "one.counts.json", "one.jsonl",
    ]  # fmt: skip


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources
    total = sum(source.size for source in sources)
    told: list[tuple[int, int]] = []

    build_pairs(sources, tmp_path / "p.jsonl", options=options(), report=lambda *done: told.append(done))

    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {of for _, of in told} == {total}
    assert {sources[0].size, sources[0].size + sources[1].size, total} <= {done for done, _ in told}


def test_what_is_there_already_is_left_alone_and_something_else_is_not_replaced(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path / "corpus")
    out = tmp_path / "pairs.jsonl"
    first = build(paths, out)
    written = out.stat().st_mtime_ns

    assert build(paths, out) == first
    assert out.stat().st_mtime_ns == written
    for changed in ({"seed": 5}, {"limit": 1}, {"experiments": (Experiment.HE_SHE,)}, {"names_sample": 1}):
        with pytest.raises(OutputError, match=r"holds something else.*--replace"):
            build(paths, out, **changed)
    with out.open("a") as stream:
        stream.write("\n")
    with pytest.raises(OutputError, match="holds something else"):
        build(paths, out)
    counts = build_pairs(corpus_sources(paths).sources, out, options=options(seed=5), replace=True)
    assert counts.seed == 5
    assert json.loads(counts_path(out).read_text())["seed"] == 5


def test_a_limit_is_one_of_sentences_in_each_file(tmp_path: Path) -> None:
    counts = build(write_corpus(tmp_path / "corpus"), tmp_path / "pairs.jsonl", limit=2)

    assert [source.sentences for source in counts.sources] == [2, 2, 2]


def test_a_corpus_without_a_match_says_what_was_looked_for_and_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The nurse slept.\nHe slept.\nShe slept, too.\n")

    with pytest.raises(
        NothingFoundError,
        match=r"No sentence of the corpus gives a pair\. Looked for: one of 3 occupations in 'en' \(doctor, nurse, "
        r"police officer\) beside a gendered word of he-she\. Found: 3 sentences, 1 with an occupation "
        r"\(an occupation, but no gendered word of the experiments: 1\)",
    ):
        build([tmp_path / "a.txt"], tmp_path / "pairs.jsonl", experiments=(Experiment.HE_SHE,))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.txt"]


def test_an_empty_file_among_others_is_fine_and_nothing_but_empty_files_is_not(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path / "corpus")
    (tmp_path / "empty.txt").touch()

    assert build([tmp_path / "empty.txt", *paths], tmp_path / "pairs.jsonl").pairs == 12
    with pytest.raises(NothingFoundError, match=r"There is no sentence in .*empty\.txt"):
        build([tmp_path / "empty.txt"], tmp_path / "none.jsonl")


@pytest.mark.parametrize("searcher", [in_this_process, in_processes(2)], ids=["one process", "two processes"])
def test_a_file_that_cannot_be_read_is_refused_and_the_others_are_not_lost(
    tmp_path: Path, searcher: SourceSearcher
) -> None:
    paths = write_corpus(tmp_path / "corpus")
    (tmp_path / "latin.txt").write_bytes("Er hieß James, he was a doctor.".encode("latin-1"))
    sources = corpus_sources([*paths, tmp_path / "latin.txt"]).sources

    with pytest.raises(DatasetError, match=r"latin\.txt is not UTF-8 text .*iconv"):
        build_pairs(sources, tmp_path / "pairs.jsonl", options=options(), searcher=searcher)
    assert not (tmp_path / "pairs.jsonl").exists()
    (unfinished,) = leftovers(tmp_path / "pairs.jsonl")
    assert len(list((unfinished / "tallies").iterdir())) >= 2


def test_a_line_of_a_megabyte_is_cut_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * 200_000 + "\nHe was a doctor.\n")

    counts = build([tmp_path / "a.txt"], tmp_path / "pairs.jsonl")

    assert (counts.cuts, counts.pairs) == (99, 1)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path / "corpus")
    sources = [TextFile(path) for path in paths]

    def changing(*_: object) -> None:
        paths[0].write_text("She was a nurse.\n")

    with pytest.raises(DatasetError, match=r"a\.txt changed while being read"):
        build_pairs(sources, tmp_path / "pairs.jsonl", options=options(), report=changing)


def test_options_can_say_nothing_but_the_probes() -> None:
    chosen = PairOptions(PROBES)

    assert chosen.experiments == TRAINED_EXPERIMENTS
    assert (chosen.names_sample, chosen.limit, chosen.seed) == (3_144, None, 0)
