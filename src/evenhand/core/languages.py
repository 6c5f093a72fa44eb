"""Tags of languages: two letters of ISO 639-1, or three of ISO 639-3, perhaps with a region or a script behind them."""

from __future__ import annotations

import re

from evenhand.core.errors import EvenhandError

ISO_639_1 = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg
    ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn
    no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905
)

_NAMES = {
    "german": "de", "deutsch": "de", "english": "en", "englisch": "en", "french": "fr", "spanish": "es",
    "turkish": "tr", "italian": "it", "dutch": "nl", "polish": "pl", "portuguese": "pt", "russian": "ru",
}  # fmt: skip
"""Names that people give where a tag is needed."""

_TAG = re.compile(r"([a-z]{2,3})(?:-[A-Za-z0-9]{2,8})*")


def refuse_unknown_language(tag: str) -> None:
    """Refuse what is no tag of a language.

    Raises:
        EvenhandError: With the tag that was likely meant.
    """
    found = _TAG.fullmatch(tag)
    if found and (len(found[1]) == 3 or found[1] in ISO_639_1):
        return
    likely = _NAMES.get(tag.casefold()) or (tag.lower() if tag.lower() in ISO_639_1 else None)
    hint = f" Did you mean {likely!r}?" if likely else ""
    raise EvenhandError(f"{tag!r} is not the code of a language.{hint} Give two letters, such as de or en.")
