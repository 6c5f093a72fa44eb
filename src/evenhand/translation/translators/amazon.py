"""``amazon``: Amazon Translate, with BLANK as a custom term that it may not change."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from evenhand.core.errors import TranslationError, require_extra
from evenhand.core.items import BLANK
from evenhand.translation.translators import LanguagePair, listed_cost

MOST_BYTES = 10_000
"""Of a text, by the service's own limit; longer ones are translated in pieces."""

MOST_ATTEMPTS = 8
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
DEFAULT_REGION = "eu-west-1"

_PASSING = frozenset(
    {
        "InternalServerException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Faults after which the same request may succeed."""

_QUOTA = frozenset({"LimitExceededException", "ServiceQuotaExceededException"})
_LANGUAGE = frozenset({"UnsupportedLanguagePairException"})
_CREDENTIALS = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
_KEPT = "What was translated before is kept: the same command goes on from here."


class AmazonTranslator:
    """Asks Amazon Translate, which takes one text per request."""

    batch_size = 1
    concurrency = 8

    def __init__(
        self, client: Any, languages: LanguagePair, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.languages = languages
        self.settings: Mapping[str, str] = {"service": "Amazon Translate", "terminology": BLANK}
        self.cost = listed_cost("amazon")
        self._client = client
        self._sleep = sleep
        self._terminology: list[str] | None = None
        self._lock = Lock()
        # Jitter only spreads requests over time, so it need not be repeatable.
        self._jitter = random.Random()  # noqa: S311

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The translation of each text."""
        with self._lock:
            if self._terminology is None:
                self._terminology = self._import_terminology()
        return [self._translate(text) for text in texts]

    def _translate(self, text: str) -> str:
        return " ".join(
            str(
                self._ask(
                    self._client.translate_text,
                    Text=piece,
                    SourceLanguageCode=self.languages.source,
                    TargetLanguageCode=self.languages.target,
                    TerminologyNames=self._terminology,
                )["TranslatedText"]
            )
            for piece in _pieces(text)
        )

    def _import_terminology(self) -> list[str]:
        """Tell the service that BLANK is a term; none if it refuses, and the placeholder must do."""
        name = f"evenhand-blank-{self.languages.source}-{self.languages.target}"
        content = f"{self.languages.source},{self.languages.target}\n{BLANK},{BLANK}\n"
        try:
            self._ask(
                self._client.import_terminology,
                Name=name,
                MergeStrategy="OVERWRITE",
                TerminologyData={"File": content.encode(), "Format": "CSV"},
            )
        except _TerminologyRefusedError:
            return []
        return [name]

    def _ask(self, operation: Callable[..., Any], **request: Any) -> Any:
        from botocore.exceptions import (
            BotoCoreError,
            ClientError,
            HTTPClientError,
            NoCredentialsError,
            PartialCredentialsError,
        )

        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                return operation(**request)
            except (NoCredentialsError, PartialCredentialsError):
                raise TranslationError(
                    "Amazon Translate needs credentials, and none are set. Set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or a profile with AWS_PROFILE."
                ) from None
            except ClientError as problem:
                code = problem.response["Error"].get("Code", "")
                reason = f"{code}: {problem.response['Error'].get('Message', '')}"
                if code not in _PASSING:
                    raise self._refusal(code, reason, is_terminology="TerminologyData" in request) from None
            except HTTPClientError as problem:
                reason = str(problem)
            except BotoCoreError as problem:
                raise TranslationError(f"Amazon Translate cannot be asked: {problem}. {_KEPT}") from None
            if attempt < MOST_ATTEMPTS:
                longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
                self._sleep(longest * (0.5 + self._jitter.random() / 2))
        raise TranslationError(
            f"Amazon Translate failed {MOST_ATTEMPTS} times, the last time with {reason}. {_KEPT}"
        )

    def _refusal(self, code: str, reason: str, *, is_terminology: bool) -> Exception:
        if code in _CREDENTIALS:
            return TranslationError(
                f"Amazon Translate refuses the credentials ({reason}). They need the permissions "
                "translate:TranslateText and translate:ImportTerminology."
            )
        if is_terminology:
            return _TerminologyRefusedError(reason)
        if code in _QUOTA:
            return TranslationError(f"The quota of Amazon Translate is used up ({reason}). {_KEPT}")
        if code in _LANGUAGE:
            return TranslationError(
                f"Amazon Translate does not translate {self.languages.source!r} into {self.languages.target!r} "
                f"({reason}). Choose another translator."
            )
        return TranslationError(f"Amazon Translate refuses a text ({reason}). {_KEPT}")


class _TerminologyRefusedError(Exception):
    """The service takes no custom terms, as in regions and accounts without that feature."""


def _pieces(text: str) -> list[str]:
    """A text in pieces that the service takes, cut after sentences, or between words where one is too long."""
    if len(text.encode()) <= MOST_BYTES:
        return [text]
    pieces = [""]
    for part in re.findall(r".+?(?:[.!?…]\s+|\s+|$)", text, flags=re.DOTALL):
        if len((pieces[-1] + part).encode()) > MOST_BYTES:
            pieces.append("")
        pieces[-1] += part
    return [piece.strip() for piece in pieces if piece.strip()]


class AmazonKind:
    """Opens Amazon Translate with the credentials and the region of the environment."""

    name = "amazon"
    summary = "Amazon Translate, paid by the character; amazon:REGION for another region"

    def open(self, argument: str, languages: LanguagePair) -> AmazonTranslator:
        """The service; nothing is sent yet."""
        require_extra("translate", "boto3", purpose="The translator amazon")
        import boto3
        from botocore.config import Config

        session = boto3.session.Session()
        client = session.client(
            "translate",
            region_name=argument or session.region_name or DEFAULT_REGION,
            config=Config(
                retries={"total_max_attempts": 1}, max_pool_connections=AmazonTranslator.concurrency
            ),
        )
        return AmazonTranslator(client, languages)


AMAZON = AmazonKind()
