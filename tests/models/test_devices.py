"""The same scores on a processor and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from engine_scores import engine_scores
from zoo import SPECIES
from zoo_fixtures import Zoo
from zoo_items import starter_items

from evenhand.core.items import Span, Task
from evenhand.models.language_model import load_language_model
from evenhand.models.requests import Embed


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_single_precision_gives_the_same_scores_on_a_gpu(menagerie: Zoo) -> None:
    items = starter_items(Task.INTRASENTENCE)
    for name in SPECIES:
        on_cpu = engine_scores(menagerie.model(name), items)
        on_gpu = engine_scores(load_language_model(str(menagerie.folder(name)), device="cuda"), items)
        assert on_gpu == pytest.approx(on_cpu, rel=1e-4), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_contextual_vectors_are_the_same_on_a_gpu(menagerie: Zoo) -> None:
    texts = ["The librarian was very quiet.", "The old librarian, who was tired, went home early."]
    spans = [Span(text.index("librarian"), text.index("librarian") + 9) for text in texts]
    for name in SPECIES:
        requests = [Embed(text, span) for text, span in zip(texts, spans, strict=True)]
        gpu = load_language_model(str(menagerie.folder(name)), device="cuda")
        on_cpu, on_gpu = (
            [answer.vector for answer in model.answer(requests)] for model in (menagerie.model(name), gpu)
        )
        np.testing.assert_allclose(np.array(on_gpu), np.array(on_cpu), rtol=1e-3, atol=1e-4, err_msg=name)
