"""Features: TF-IDF against scikit-learn, embeddings from files, word vectors, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from regard_training import NEEDS_REGARD

from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError
from evenhand.regard.features import EMBEDDINGS, TFIDF, ComponentState, TextRows, open_features, split_name
from evenhand.regard.heads import refuse_unfit_features
from evenhand.regard.pretrained_features import VECTORS
from evenhand.regard.word_vectors import words_of

pytestmark = NEEDS_REGARD

TEXTS = (
    "Die Person half allen Nachbarn.",
    "Die Person half niemandem.",
    "Eine Person wohnt in der Stadt.",
    "Die Stadt ist groß, die Person auch.",
)
ROWS = TextRows.of(TEXTS)


def _through_files(state: ComponentState) -> ComponentState:
    """As a folder would hold it."""
    return ComponentState(json.loads(json.dumps(dict(state.settings))), dict(state.arrays), dict(state.files))


def test_tfidf_is_that_of_words_and_of_characters_beside_each_other() -> None:
    matrix = open_features("tfidf").fit(ROWS).matrix(ROWS).toarray()  # type: ignore[attr-defined]
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True)
    expected = np.hstack([own.fit_transform(TEXTS).toarray() for own in (words, characters)])
    assert matrix == pytest.approx(expected)


def test_tfidf_knows_training_rows_alone() -> None:
    fitted = open_features("tfidf").fit(ROWS.take(np.array([0, 1])))
    terms = fitted.state().settings["words"]
    assert "niemandem" in terms
    assert "stadt" not in terms


def test_restored_tfidf_gives_the_same_numbers_for_new_texts() -> None:
    fitted = TFIDF.open("").fit(ROWS)
    new = TextRows.of(["Die Person wohnt bei Nachbarn in der großen Stadt", "?!", "x" * 100_000])
    restored = TFIDF.restore(_through_files(fitted.state()), "")
    assert np.array_equal(restored.matrix(new).toarray(), fitted.matrix(new).toarray())


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(DatasetError, match="nothing to count in 2 texts"):
        open_features("tfidf").fit(TextRows.of(["?!", "..."]))


def test_embeddings_are_taken_by_row_number(tmp_path: Path) -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez(tmp_path / "x.npz", X=table, texts=np.array(TEXTS))
    features = open_features(f"embeddings:{tmp_path / 'x.npz'}")
    features.prepare(ROWS)
    rows = ROWS.take(np.array([3, 1]))
    assert features.fit(rows).matrix(rows).tolist() == table[[3, 1]].tolist()  # type: ignore[attr-defined]


def test_embeddings_in_another_order_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.ones((4, 3)), texts=np.array(TEXTS[::-1]))
    with pytest.raises(DatasetError, match=r"row 0 \(from 0\), is the embedding of 'Die Stadt"):
        open_features(f"embeddings:{tmp_path / 'x.npz'}").prepare(ROWS)


def test_too_few_embeddings_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(DatasetError, match="embeddings of 3 texts, and row 3"):
        open_features(f"embeddings:{tmp_path / 'x.npy'}").prepare(ROWS)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones(3), "one row of numbers per text"),
        (np.array([[1.0, np.nan]]), "row 0 of X .* has a value that is not a number"),
        (np.array([["a", "b"]]), "one row of numbers per text"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(tmp_path: Path, table: np.ndarray, message: str) -> None:
    np.savez(tmp_path / "x.npz", X=table)
    with pytest.raises(DatasetError, match=message):
        EMBEDDINGS.open(str(tmp_path / "x.npz"))


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (ran,))  # type: ignore[return-value]

    np.savez(tmp_path / "x.npz", X=np.array([Trap()], dtype=object))
    (tmp_path / "x.npy").write_bytes(pickle.dumps(Trap()))
    for name in ("x.npz", "x.npy"):
        with pytest.raises(DatasetError, match="without pickles"):
            EMBEDDINGS.open(str(tmp_path / name))
    assert not ran.exists()


def test_damaged_and_missing_embeddings_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", X=np.random.default_rng(0).normal(size=(50, 4)))
    content = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: len(content) // 2])
    (tmp_path / "flipped.npz").write_bytes(content[:200] + bytes([content[200] ^ 255]) + content[201:])
    for name in ("cut.npz", "flipped.npz"):
        with pytest.raises(DatasetError, match=r"cannot be read as \.npy or \.npz"):
            EMBEDDINGS.open(str(tmp_path / name))
    with pytest.raises(DatasetError, match="There is no file"):
        EMBEDDINGS.open(str(tmp_path / "none.npz"))


def test_a_small_archive_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((1_000, 100)))
    monkeypatch.setattr("evenhand.regard.features.MAX_STORED_BYTES", 100_000)
    assert (tmp_path / "x.npz").stat().st_size < 100_000
    with pytest.raises(DatasetError, match="holds 800,"):
        EMBEDDINGS.open(str(tmp_path / "x.npz"))


def test_names_of_features() -> None:
    assert split_name("vectors:a:b.vec") == ("vectors", "a:b.vec")
    with pytest.raises(EvenhandError, match="need file behind a colon: vectors:FILE"):
        split_name("vectors")
    with pytest.raises(EvenhandError, match="take nothing behind a colon"):
        split_name("tfidf:x")
    with pytest.raises(UnknownNameError, match="Did you mean 'tfidf'"):
        split_name("tf-idf")


def test_features_that_a_head_cannot_use_are_refused_with_those_it_can() -> None:
    fitted = open_features("tfidf").fit(ROWS)
    with pytest.raises(EvenhandError, match="Choose --features vectors:FILE"):
        refuse_unfit_features("gru", fitted, name="tfidf")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.vec"
    path.write_text("4 2\nPerson 1 0\nhalf 0 1\nstadt 2 2\ngroß -1 3\n", encoding="utf-8")
    return path


def test_vectors_are_a_mean_weighted_by_rarity(vectors: Path) -> None:
    features = VECTORS.open(str(vectors))
    fitted = features.fit(ROWS)
    found = fitted.matrix(TextRows.of(["Die Person half der Stadt", "unbekannt"]))
    counts = {"person": 4, "half": 2, "stadt": 2}
    weight = {word: np.log(5 / (1 + count)) + 1 for word, count in counts.items()}
    expected = weight["person"] * np.array([1, 0]) + weight["half"] * np.array([0, 1])
    expected = expected + weight["stadt"] * np.array([2, 2])
    assert found[0] == pytest.approx(expected / sum(weight.values()))
    assert found[1].tolist() == [0, 0]
    sequences = fitted.sequences(TextRows.of(["Person half", "unbekannt"]))
    assert [own.tolist() for own in sequences] == [[[1, 0], [0, 1]], [[0, 0]]]


def test_restored_vectors_are_the_same_and_a_changed_file_is_refused(vectors: Path) -> None:
    fitted = VECTORS.open(str(vectors)).fit(ROWS)
    state = _through_files(fitted.state())
    new = TextRows.of(["Die Person ist groß", "Stadt neu"])
    assert VECTORS.restore(state, str(vectors)).matrix(new) == pytest.approx(fitted.matrix(new))
    vectors.write_text(vectors.read_text(encoding="utf-8").replace("-1 3", "-1 4"), encoding="utf-8")
    with pytest.raises(DatasetError, match="content has changed"):
        VECTORS.restore(state, str(vectors))


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.vec"
    path.write_text("2 2\nPerson 1\nhalf 0 1\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="line 2: 2 numbers are needed"):
        VECTORS.open(str(path)).prepare(ROWS)
    path.write_text("not vectors at all\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="does not begin with the number of words"):
        VECTORS.open(str(path))
    with pytest.raises(DatasetError, match="There is no file"):
        VECTORS.open(str(tmp_path / "none.vec"))


def test_words_keep_their_capital_letters() -> None:
    assert words_of("Die Person, 24, half!") == ["Die", "Person", "24", "half"]
