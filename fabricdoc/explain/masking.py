"""Secrets in what is quoted: tokens, keys and passwords become ***, the rest of the line stays verbatim."""

from __future__ import annotations

import re

SECRET = re.compile(
    r"(?i)(?P<before>(?:\b[\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key|credential|private[_-]?key)[\w-]*"
    r"[\"']?\s*[=:]\s*[\"']?|--(?:api-key|token|password)[= ]|\bBearer\s+|://[^/\s:@]{1,80}:))(?P<value>[^\s\"'@,;&]{4,400})"
)
KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|ghp_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{12,}|xox[abpr]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|nvapi-[\w-]{16,})"
)
STARS = "***"


def masked(text: str) -> str:
    """The text with every secret that is known by its name or its form as ***."""
    return KNOWN.sub(STARS, SECRET.sub(lambda match: match["before"] + STARS, text))
