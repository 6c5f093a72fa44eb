"""What is asked by the options of MALoR: probes, their spelling, and real shares of women to set beside the answers."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.errors import EvenhandError, are_missing
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet
from evenhand.core.protocols import MALOR_V1, ProbeProtocol, get_probe_protocol
from evenhand.data.probes import load_listed_probes, load_probes
from evenhand.data.winogender import EMPLOYED, WRITTEN, occupation_shares
from evenhand.instruments.malor.instrument import DEFAULT_LANGUAGE, MalorOptions
from evenhand.instruments.malor.questions import TermCase


def probes_of(options: MalorOptions) -> ProbeSet:
    """The probes that are asked: those of the options, or the bundled ones of a language."""
    return all_probes_of(options).sampled(options.limit)


def all_probes_of(options: MalorOptions) -> ProbeSet:
    """The probes that are asked, without a limit."""
    if isinstance(options.data, ProbeSet):
        _refuse_two_sources(options, options.data)
        return options.data
    if options.data is not None:
        raise EvenhandError(
            f"MALoR takes structures, occupations and terms from files, not a dataset such as {options.data!r}. Leave "
            "out --data, or give --structures, --occupations or --terms."
        )
    protocol = get_probe_protocol(options.protocol)
    if protocol is not MALOR_V1:
        return _published_probes(options, protocol)
    return load_probes(
        options.language or DEFAULT_LANGUAGE,
        structures=options.structures,
        occupations=options.occupations,
        terms=options.terms,
    )


def _published_probes(options: MalorOptions, protocol: ProbeProtocol) -> ProbeSet:
    """The probes of a study, from files that its reader has: the package does not ship them."""
    if options.language not in (None, DEFAULT_LANGUAGE):
        raise EvenhandError(f"{protocol.name} is in English. Leave out --language {options.language}.")
    if options.structures is None or options.occupations is None:
        missing = [f"--{name}" for name in ("structures", "occupations") if getattr(options, name) is None]
        raise EvenhandError(
            f"{protocol.name} asks the structures and occupations of the study, which the package does not ship. Give "
            f"them as files: {are_missing(missing)}."
        )
    return load_listed_probes(options.structures, options.occupations, options.terms)


def other_than_published(probes: ProbeSet, protocol: ProbeProtocol) -> list[str]:
    """Warnings where files have another number of structures, occupations or names than the study that they are of."""
    found = {
        f"{experiment.value} structures": len(probes.of(experiment)) for experiment in probes.experiments
    }
    wanted = dict.fromkeys(found, protocol.structures) | {"occupations": protocol.occupations}
    found["occupations"] = len(probes.occupations)
    names = probes.terms.get(Experiment.NAMES)
    if names is not None and Experiment.NAMES in probes.experiments:
        wanted["pairs of names"], found["pairs of names"] = protocol.names, len(names)
    return [
        f"{protocol.name} has {number} {name}; the files have {found[name]}. The figures are not those of the study."
        for name, number in wanted.items()
        if number is not None and number != found[name]
    ]


def case_of(options: MalorOptions) -> TermCase:
    """How terms are spelled: as the protocol says, or as was chosen."""
    protocol, chosen = get_probe_protocol(options.protocol), TermCase.named(options.case)
    if protocol.case is None:
        return chosen
    if options.case not in (protocol.case, TermCase.BY_PLACE):
        raise EvenhandError(
            f"{protocol.name} spells everything in {protocol.case} case. Leave out --case {options.case}."
        )
    return TermCase.named(protocol.case)


def _refuse_two_sources(options: MalorOptions, probes: ProbeSet) -> None:
    files = [name for name in ("structures", "occupations", "terms") if getattr(options, name) is not None]
    if files:
        raise EvenhandError(
            f"MALoR was given a set of probes, and {' and '.join(files)} besides. Give the one or the other."
        )
    if options.language not in (None, probes.language):
        raise EvenhandError(
            f"MALoR was given probes in {probes.language!r} and the language {options.language!r}. Leave out the "
            "language."
        )


def shares_of(options: MalorOptions) -> Mapping[str, Mapping[str, float]]:
    """Real shares of women by occupation, by where they come from."""
    if options.shares is None:
        return {}
    if isinstance(options.shares, str):
        return {column: occupation_shares(options.shares, column=column) for column in (EMPLOYED, WRITTEN)}
    return options.shares
