"""Language codes: which ones a speech engine supports, and how a caller's code is parsed. Pure.

Needs no model, so that the api can refuse a request.
"""

from collections.abc import Collection
from typing import Final

from framekiln.speech.errors import UnknownLanguage

ENGLISH: Final = frozenset({"en"})
_WHISPER: Final = (
    "af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl "
    "gu ha haw he hi hr ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg "
    "mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq "
    "sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh"
)
WHISPER_LANGUAGES: Final = frozenset(_WHISPER.split())

# Current codes, or codes from another list, for which the models have other codes.
_SAME: Final = {
    "cmn": "zh",
    "fil": "tl",
    "in": "id",
    "iw": "he",
    "ji": "yi",
    "jv": "jw",
    "nb": "no",
}


def plain_code(language: str) -> str:
    """Return `en` for `EN`, `en-GB` or ` en_US `, and the models' own code for its synonyms."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return _SAME.get(code, code)


def check_language(language: str, known: Collection[str]) -> str:
    """Return the engine's own code for a language; refuse an unsupported one."""
    code = plain_code(language)
    if code in known:
        return code
    if len(known) == 1:
        advice = f"it knows {next(iter(known))!r} only"
    else:
        advice = "give a code such as en, de or ja, or none to have it detected"
    raise UnknownLanguage(
        f"language {language!r} is not known to the speech engine; {advice}", field="language"
    )
