"""Secrets in what is quoted: tokens, keys and passwords become ***, the rest of the text stays verbatim.

A secret is known by the name before it (HF_TOKEN=, --api-key, "password":), by how it begins (hf_, sk-, AKIA, ...), or
by its place in an address (https://user:SECRET@host). One that has none of these is not seen.
"""

from __future__ import annotations

import re

STARS = "***"
_NAMES = (
    r"(?:token(?!s|iz)|secret|passw(?:or)?d|passphrase|credential|auth(?![a-z])|authorization|(?<![a-z])key|(?:api|access|private)key)"
    r"[\w-]{0,24}"
)
_NAMED = re.compile(
    rf"""((?:{_NAMES}["']?\s{{0,4}}[=:]|--[\w-]{{0,40}}?{_NAMES}\s)\s{{0,4}}["']?(?:bearer\s)?)([^\s"',;&]{{3,}})""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(\bbearer\s{1,4})[^\s\"',;&]{4,}", re.IGNORECASE)
_BY_FORM = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[A-Z0-9]{12,}|nvapi-[\w-]{16,}|xox[abpr]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]*)"
)
"""Tokens that are known by how they begin: Hugging Face, OpenAI, GitHub, GitLab, AWS, NGC, Slack, JWT."""
_IN_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]{1,15}://[^\s:/@]{0,80}:)[^\s@/]{1,256}@", re.IGNORECASE)
_HINTS = ("token", "secret", "pass", "key", "auth", "credential")


def masked(text: str) -> str:
    """`text` with what looks like a secret as "***": by its name, by how it begins, by its place in an address."""
    lower = text.lower()
    if any(hint in lower for hint in _HINTS):
        text = _NAMED.sub(lambda found: found[1] + STARS, text)
    if "bearer" in lower:
        text = _BEARER.sub(lambda found: found[1] + STARS, text)
    text = _BY_FORM.sub(STARS, text)
    return _IN_ADDRESS.sub(lambda found: f"{found[1]}{STARS}@", text) if "://" in text else text
