"""``evenhand mitigate trigger``: words before every prompt that make a model speak of groups alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.cli.mitigate import Out
from evenhand.cli.mitigation_options import Corpus, HeldOutFiles, Language, ModelName
from evenhand.cli.mitigation_runs import run_mitigation
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    AllowPickleWeights,
    Confidence,
    Device,
    Fresh,
    Json,
    KernelsName,
    Memory,
    PrecisionName,
    Resamples,
    TrustRemoteCode,
    model_references,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, say, warn
from evenhand.core.errors import EvenhandError, require_extra

if TYPE_CHECKING:
    from evenhand.triggers.recipes import TriggerRecipe
    from evenhand.triggers.targets import TargetSet

SEARCH = "Search"

JUDGEMENT = "Judgement"


def trigger_command(
    model: ModelName,
    out: Out,
    targets: Annotated[
        Path | None,
        typer.Option(
            help="Target pairs: a table with the columns regard, first and second, or a folder of published targets.",
            rich_help_panel=DATA,
        ),
    ] = None,
    from_annotations: Annotated[
        list[Path] | None,
        typer.Option(
            help="Annotated texts about a person, which are told of a woman and of a man. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Whom annotated texts are told of instead: CSV with name, first, first_gender, second and "
            "second_gender, as for evenhand regard check.",
            dir_okay=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    language: Language = None,
    corpus: Corpus = None,
    held_out: HeldOutFiles = None,
    ban: Annotated[
        list[Path] | None,
        typer.Option(
            help="A text file with words that the trigger may not have, one per line. Words for groups of people, "
            "first names, occupations and words of the lexicons are banned already. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="gcg, or hotflip as published (recipe kraft-2021).", rich_help_panel=SEARCH),
    ] = "gcg",
    slots: Annotated[
        int | None,
        typer.Option(help="Tokens of the trigger.", show_default="6", rich_help_panel=SEARCH),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Searches from so many seeds; the best is kept.",
            min=1,
            show_default="5; 1 for hotflip, which leaves nothing to chance",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0, rich_help_panel=SEARCH)] = 0,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Steps of a search at most; a sweep over all slots for hotflip.",
            min=1,
            show_default="60; 10 for hotflip",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            help="A weight of the objective, as name=value: neutral, positive, negative, margin, gap, divergence or "
            "fluency. May be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    sentence: Annotated[
        str | None,
        typer.Option(
            help="What the trigger is compared with.",
            show_default="All people deserve respect.",
            rich_help_panel=JUDGEMENT,
        ),
    ] = None,
    transfer: Annotated[
        list[str] | None,
        typer.Option(
            help="Another decoder, or api:NAME behind a server, on which the same prefixes are compared. May be "
            "repeated.",
            rich_help_panel=JUDGEMENT,
        ),
    ] = None,
    classifier: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the classifier that labels what the model writes behind each prefix. One of the starter "
            "set if not given, which is a toy.",
            file_okay=False,
            rich_help_panel=JUDGEMENT,
        ),
    ] = None,
    contexts: Annotated[
        Path | None,
        typer.Option(
            help="Contexts that the model writes in: CSV with context and perhaps kind, or .txt with one per line. "
            "Those with which a target of the search begins are left out. Published ones and a dozen of ours if not "
            "given.",
            dir_okay=False,
            rich_help_panel=JUDGEMENT,
        ),
    ] = None,
    texts: Annotated[
        int,
        typer.Option(
            help="Texts that the model writes behind every prompt and prefix; 0 for none, which leaves likelihoods.",
            min=0,
            rich_help_panel=JUDGEMENT,
        ),
    ] = 50,
    new_tokens: Annotated[
        int | None,
        typer.Option(
            help="Most new tokens of a text.",
            show_default="30; 16 for lab models",
            min=1,
            rich_help_panel=JUDGEMENT,
        ),
    ] = None,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    precision: PrecisionName = "fp32",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    resamples: Resamples = DEFAULT_RESAMPLES,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: Json = False,
    fresh: Fresh = False,
    memory: Memory = None,
) -> None:
    """Find words that, put before every prompt, make a decoder speak of groups alike. Nothing is trained.

    A search by gradient makes neutral and positive target texts likelier, negative ones less likely, narrows the gap
    between groups, and leaves what follows ordinary sentences as it was. Words for groups of people, first names,
    occupations and words of the lexicons are banned.

    Then the model writes about the groups in contexts that the search did not see: without a prefix, behind the
    trigger, behind random tokens and behind a sentence. Regard, lexicons, occupations, repetition and content are
    compared. `--out` becomes a model folder whose prefix counts wherever the model writes or scores texts. A stopped
    search goes on when the same command is given again.

    **Examples**

    `evenhand mitigate trigger gpt2 --from-annotations annotations.csv --classifier classifier --out models/trigger`

    `evenhand mitigate trigger ./gerpt2 --targets trigger_targets/unanimous --language de --method hotflip --out t`

    `evenhand mitigate trigger gpt2 --targets pairs.csv --weight gap=4 --transfer gpt2-medium --out t`
    """
    say(f"Searching for a trigger on {model}")
    require_extra("hf", purpose="evenhand mitigate trigger")
    require_extra("regard", "sklearn", "safetensors", "simplemma", purpose="evenhand mitigate trigger")
    references = model_references(
        (model, *(transfer or ())),
        device=device,
        kernels=kernels,
        precision=precision,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    from evenhand.api.defaults.mitigating import default_data
    from evenhand.triggers.judgement import texts_to_write
    from evenhand.triggers.trigger import TriggerOptions

    data = default_data(references[0], corpus or (), language=language, held_out=held_out or ())
    spoken = data.probes.language
    chosen = _targets(targets, from_annotations or (), pairs, language=spoken)
    monitor = TerminalMonitor()
    options = TriggerOptions(
        targets=chosen,
        recipe=_recipe(
            method,
            language=spoken,
            slots=slots,
            seeds=seeds,
            first_seed=seed,
            steps=steps,
            weights=weight or (),
        ),
        written=texts_to_write(
            references[0],
            chosen,
            language=spoken,
            texts=texts,
            new_tokens=new_tokens,
            classifier=classifier,
            contexts=contexts,
            beside=out,
            monitor=monitor,
        )
        if texts and chosen
        else None,
        banned=_banned(ban or ()),
        sentence=sentence,
        transfer=tuple(references[1:]),
        resampling=resampling(resamples, DEFAULT_SEED, confidence),
    )
    run_mitigation(references[0], "trigger", data=data, options=options, out=out, fresh=fresh, json=json)


def _targets(
    targets: Path | None, annotations: list[Path] | tuple[()], pairs: Path | None, *, language: str
) -> TargetSet | None:
    from evenhand.regard.persons import read_person_pairs
    from evenhand.regard.texts import read_regard_texts
    from evenhand.triggers.targets import left_out_words, read_targets, targets_from_annotations

    if targets and annotations:
        raise EvenhandError("--targets and --from-annotations were both given. Give one of them.")
    if pairs and not annotations:
        raise EvenhandError(
            "--pairs says whom annotated texts are told of, and there are none. Give them with --from-annotations; a "
            "table of --targets names its groups itself, in first_prompt and second_prompt."
        )
    if targets:
        return read_targets(targets, language=language)
    if not annotations:
        return None
    chosen = targets_from_annotations(
        read_regard_texts(annotations),
        language=language,
        persons=read_person_pairs(pairs) if pairs else None,
    )
    if chosen.left_out:
        warn(left_out_words(chosen.left_out))
    return chosen


def _recipe(
    method: str,
    *,
    language: str,
    slots: int | None,
    seeds: int | None,
    first_seed: int,
    steps: int | None,
    weights: list[str] | tuple[()],
) -> TriggerRecipe:
    from evenhand.triggers.recipes import TriggerRecipe, recipe_of

    usual = recipe_of(method, language=language)
    count = len(usual.seeds) if seeds is None else seeds
    chosen = {"slots": slots, "steps": steps}
    return TriggerRecipe.model_validate(
        {
            **usual.model_dump(),
            **{name: value for name, value in chosen.items() if value is not None},
            "seeds": tuple(range(first_seed, first_seed + count)),
            "weights": {**usual.weights.model_dump(), **_weights(weights)},
        }
    )


def _weights(texts: list[str] | tuple[()]) -> dict[str, float]:
    from evenhand.core.errors import UnknownNameError
    from evenhand.triggers.recipes import ObjectiveWeights

    weights = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in ObjectiveWeights.model_fields:
            raise UnknownNameError("weight of a trigger's objective", name, ObjectiveWeights.model_fields)
        try:
            weights[name] = float(value)
        except ValueError:
            raise EvenhandError(f"--weight {text} has no number. Write it as {name}=0.5.") from None
    return weights


def _banned(files: list[Path] | tuple[()]) -> tuple[str, ...]:
    from evenhand.core.errors import DatasetError
    from evenhand.core.files import decode_utf8, read_bounded

    words = []
    for file in files:
        content = decode_utf8(read_bounded(file, error=DatasetError), file, error=DatasetError)
        own = [line.strip() for line in content.splitlines() if line.strip()]
        if not own:
            raise DatasetError(f"{file} is empty. Write one word per line, or leave out --ban.")
        words += own
    return tuple(words)


def attach(groups: Mapping[str, typer.Typer]) -> None:
    """Add the command."""
    groups["mitigate"].command("trigger", cls=CommandWithNames)(trigger_command)
