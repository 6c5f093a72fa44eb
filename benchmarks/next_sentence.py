"""How fast next-sentence heads train, against the loop of the published code, on the same pairs and device.

    python benchmarks/next_sentence.py --model MODEL_FOLDER --pairs PAIRS --count 6400

The published loop fills every pair up to 256 tokens, runs four at a time and steps after sixteen such batches; on a GPU
it computes in fp16 under autocast. Ours groups pairs by length, fills each group up to its own longest, runs as many at
a time as memory allows and computes in bf16 on a GPU. Both train the same model and head in batches of 64 with AdamW
and two learning rates. Told are pairs per second without the first batches, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch

from evenhand.core.recipes import Precision
from evenhand.heads.encoded_pairs import EncodedPairs, PairSelection, encode_pairs
from evenhand.heads.judged_pairs import judge_inputs
from evenhand.heads.pairs import TEST, TRAIN, open_next_sentence_pairs
from evenhand.heads.training import JudgeTraining, recipe_for
from evenhand.models.judges import Judge, new_head_record, new_judge
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.next_sentence import PairEncoder
from evenhand.store.head_records import NextSentenceRecipe

BATCH, AT_A_TIME, LONGEST = 64, 4, 256
WARMED_UP = 2
"""Batches that are not timed."""


def now() -> float:
    """The time when the device has done what it was told to."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def fixed_length_loop(
    model: LanguageModel, judge: Judge, pairs: EncodedPairs, recipe: NextSentenceRecipe
) -> float:
    """Pairs per second of the published loop."""
    device, pad = model.loaded.device, model.loaded.pad_id
    judge.train()
    head = list(judge.head_parameters())
    known = {id(weight) for weight in head}
    body = [weight for weight in judge.parameters() if id(weight) not in known]
    groups = [{"params": body, "lr": recipe.body_rate}, {"params": head, "lr": recipe.head_rate}]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]])
    on_gpu = device.type == "cuda"
    scaler = torch.amp.GradScaler(enabled=on_gpu)
    filler = torch.zeros(1, LONGEST, dtype=torch.long)
    begin = now()
    for start in range(0, len(pairs), BATCH):
        if start == WARMED_UP * BATCH:
            begin = now()
        for first in range(start, start + BATCH, AT_A_TIME):
            examples = pairs[first : first + AT_A_TIME]
            rows = judge_inputs(examples, pad=pad, device=torch.device("cpu"))
            width = rows[0].shape[1]
            ids, mask, types = (
                torch.cat(
                    [row, (filler + (pad if number == 0 else 0)).expand(len(row), -1)[:, width:]], 1
                ).to(device)
                for number, row in enumerate(rows)
            )
            classes = torch.tensor([example.label for example in examples], device=device)
            with torch.autocast(device.type, dtype=torch.float16, enabled=on_gpu):
                loss = judge.losses(ids, mask, types, classes).sum() / BATCH
            torch.autograd.backward(scaler.scale(loss))
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(judge.parameters(), recipe.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return (len(pairs) - WARMED_UP * BATCH) / (now() - begin)


def our_trainer(
    model: LanguageModel,
    judge: Judge,
    pairs: EncodedPairs,
    test: EncodedPairs,
    recipe: NextSentenceRecipe,
    folder: Path,
) -> float:
    """Pairs per second of ours."""
    moments: list[float] = []
    JudgeTraining(
        judge,
        pairs,
        test,
        recipe,
        device=model.loaded.device,
        memory=model.memory,
        pad=model.loaded.pad_id,
        folder=folder,
        progress=lambda _done, _total: moments.append(now()),
    ).run()
    return (len(moments) - WARMED_UP) * BATCH / (moments[-1] - moments[WARMED_UP - 1])


def main() -> None:
    """Time both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--count", type=int, default=6_400)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", choices=[known.value for known in Precision])
    chosen = parser.parse_args()
    model = load_language_model(str(chosen.model), device=chosen.device)
    record = new_head_record(model.loaded)
    precision = Precision(chosen.precision) if chosen.precision else None
    recipe = recipe_for(record.kind, batch_size=BATCH, max_tokens=LONGEST, checkpoints=1, precision=precision)
    opened = (open_next_sentence_pairs(chosen.pairs),)
    encoder = PairEncoder(model.tokenizer, record)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        count = chosen.count // BATCH * BATCH
        train = encode_pairs(PairSelection(opened, TRAIN, count), place / "train", encoder, longest=LONGEST)
        test = encode_pairs(PairSelection(opened, TEST, 20), place / "test", encoder, longest=LONGEST)
        plain = fixed_length_loop(model, new_judge(model.loaded, record), train, recipe)
        judge = new_judge(model.loaded, record)
        ours = our_trainer(model, judge, train, test, recipe, place / "checkpoints")
    figures = {
        "device": str(model.loaded.device),
        "pairs": len(train),
        "mean_tokens": float(train.lengths.mean()),
        "fixed_length_pairs_per_second": plain,
        "our_pairs_per_second": ours,
        "ratio": ours / plain,
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
