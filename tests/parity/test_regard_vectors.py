"""Word vectors: FastText trained on German novels stands for the published file, which is too large to keep here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from regard_training import NEEDS_REGARD

from evenhand.regard.features import TextRows
from evenhand.regard.fitting import ClassifierPlan, ClassWeights, LabelledRows, prepare_fit
from evenhand.regard.heads import LogisticSettings
from evenhand.regard.network_heads import GruSettings
from evenhand.regard.persons import PersonTreatment
from evenhand.regard.pretrained_features import VECTORS
from evenhand.regard.word_vectors import words_of

pytestmark = NEEDS_REGARD


@pytest.fixture(scope="module")
def vectors(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    novel = min((shared_data / "corpora" / "novels_de").glob("*.txt"))
    lines = novel.read_text(encoding="utf-8").splitlines()[:4_000]
    model = fasttext.FastText(
        [words for line in lines if (words := words_of(line))],
        vector_size=24, min_count=2, epochs=2, bucket=5_000, workers=1, seed=1, min_n=3, max_n=4,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("vectors")
    paths = {"vec": folder / "novel.vec", "bin": folder / "novel.bin"}
    model.wv.save_word2vec_format(str(paths["vec"]))
    fasttext.save_facebook_model(model, str(paths["bin"]))
    return paths


def test_both_kinds_of_files_have_the_same_vectors(vectors: dict[str, Path]) -> None:
    rows = TextRows.of(["der die und", "und"])
    text, binary = (VECTORS.open(str(vectors[kind])).fit(rows) for kind in ("vec", "bin"))
    assert text.matrix(rows) == pytest.approx(binary.matrix(rows), abs=1e-4)
    assert len(text.sequences(rows)[0]) == 3


def test_unheard_of_words_have_a_vector_by_their_parts(vectors: dict[str, Path]) -> None:
    rows = TextRows.of(["Unerhörtestwort"])
    assert np.abs(VECTORS.open(str(vectors["bin"])).fit(rows).matrix(rows)).sum() > 0
    assert VECTORS.open(str(vectors["vec"])).fit(rows).matrix(rows).tolist() == [[0.0] * 24]


@pytest.mark.parametrize("head", ["logistic", "gru"])
def test_heads_find_the_word_that_tells_the_class(vectors: dict[str, Path], head: str) -> None:
    """One word of each text tells its class. Vectors of so little text know no more than which word it is."""
    generator = np.random.default_rng(0)
    common = ["und", "der", "die", "nicht", "ein", "war", "mit", "auf"]
    labels = np.arange(360) % 3
    texts = []
    for label in labels:
        words = [*generator.choice(common, size=3 + label % 2), ("Gericht", "Wasser", "Mutter")[label]]
        texts.append(" ".join(generator.permutation(words)))
    features = VECTORS.open(str(vectors["bin"]))
    plan = ClassifierPlan(features, "vectors", head, ClassWeights.BALANCED, PersonTreatment.KEEP)
    labelled = LabelledRows(TextRows.of(texts), np.eye(3)[labels], np.arange(360))
    settings = {
        "gru": GruSettings(units=16, epochs=15, learning_rate=1e-2),
        "logistic": LogisticSettings(1.0),
    }
    fitted = prepare_fit(plan, labelled.take(np.arange(240))).fit(settings[head])
    predicted = fitted.probabilities(labelled.rows.take(np.arange(240, 360))).argmax(axis=1)
    assert (predicted == labels[240:]).mean() > 0.8
