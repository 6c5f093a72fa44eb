"""``amazon``: Amazon Translate, with BLANK as a custom term that it may not change."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from evenhand.core.errors import TranslationError, require_extra
from evenhand.core.items import BLANK
from evenhand.translation.translators import LanguagePair, RefusedText, listed_cost
from evenhand.translation.translators.pieces import pieces

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
        self.settings: Mapping[str, str] = _settings(BLANK)
        self.cost = listed_cost("amazon")
        self._client = client
        self._sleep = sleep
        self._terminology: list[str] | None = None
        self._lock = Lock()
        # Jitter only spreads requests over time, so it need not be repeatable.
        self._jitter = random.Random()  # noqa: S311

    def prepare(self) -> tuple[str, ...]:
        """Import the terminology, which is not paid for; a warning if the service refuses it."""
        with self._lock:
            if self._terminology is not None:
                return ()
            try:
                self._terminology = self._import_terminology()
            except _TerminologyRefusedError as problem:
                self._terminology = []
                self.settings = _settings("none (refused)")
                return (
                    f"Amazon Translate refuses the terminology that protects {BLANK} ({problem}). Where the blank does "
                    "not survive, contexts are sent with placeholders.",
                )
        return ()

    def translate(self, texts: Sequence[str]) -> list[str | RefusedText]:
        """The translation of each text."""
        self.prepare()
        return [self._translate(text) for text in texts]

    def _translate(self, text: str) -> str | RefusedText:
        try:
            return " ".join(self._translated_piece(piece) for piece in pieces(text, _fits))
        except _TextRefusedError as problem:
            return RefusedText(f"Amazon Translate refuses it ({problem})")

    def _translated_piece(self, piece: str) -> str:
        answer = self._ask(
            self._client.translate_text,
            Text=piece,
            SourceLanguageCode=self.languages.source,
            TargetLanguageCode=self.languages.target,
            TerminologyNames=self._terminology,
        )
        text = answer.get("TranslatedText")
        if not isinstance(text, str):
            raise TranslationError(
                f"Amazon Translate gave an answer without a text for {piece[:80]!r}. {_KEPT}"
            )
        return text

    def _import_terminology(self) -> list[str]:
        """Tell the service that BLANK is a term; the names of the terminologies that texts are sent with."""
        name = f"evenhand-blank-{self.languages.source}-{self.languages.target}"
        content = f"{self.languages.source},{self.languages.target}\n{BLANK},{BLANK}\n"
        self._ask(
            self._client.import_terminology,
            Name=name,
            MergeStrategy="OVERWRITE",
            TerminologyData={"File": content.encode(), "Format": "CSV"},
        )
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
                reason = str(problem).rstrip(".")
            except BotoCoreError as problem:
                raise TranslationError(
                    f"Amazon Translate cannot be asked: {str(problem).rstrip('.')}. {_KEPT}"
                ) from None
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
        return _TextRefusedError(reason)


class _TerminologyRefusedError(Exception):
    """The service takes no custom terms, as in regions and accounts without that feature."""


class _TextRefusedError(Exception):
    """The service does not translate a text, and may translate others."""


def _settings(terminology: str) -> dict[str, str]:
    return {"service": "Amazon Translate", "terminology": terminology}


def _fits(text: str) -> bool:
    return len(text.encode()) <= MOST_BYTES


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
