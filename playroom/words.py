"""The words of the page for the terminal: the same files, the same keys (`static/words.js` is the other reader)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cardtable.parameters import require_one_of

FOLDER = Path(__file__).parent / "static" / "languages"
LANGUAGES = ("en", "fr", "de", "nl", "zh")
RANKS = "AKQJC"
COLOURS = {"♠": "bold", "♥": "bold red", "♦": "bold blue", "♣": "bold green"}


class Words:
    """One language."""

    def __init__(self, code: str) -> None:
        require_one_of("--language", code, LANGUAGES)
        self._words: dict[str, str] = json.loads((FOLDER / f"{code}.json").read_text(encoding="utf-8"))

    def __call__(self, key: str, **values: Any) -> str:
        """The word for a key, with its places filled in; a key that nobody knows is shown as it is."""
        return re.sub(r"\{(\w+)\}", lambda place: str(values.get(place[1], place[0])), self._words.get(key, key))

    def written(self, name: str) -> str:
        """A card with the letters of the language, or a call."""
        if len(name) == 2 and name[0] in RANKS and name[1] in COLOURS:
            return self(f"rank_{name[0]}") + name[1]
        if re.fullmatch(r"T\d+", name):
            return self("written_trump", number=name[1:])
        bid = re.fullmatch(r"(capot)([♠♥♦♣])", name)
        if bid:
            return f"{self('call_capot')} {bid[2]}"
        return self._words.get(f"call_{name.lower()}", name)

    def level(self, name: str) -> str:
        """A player's name: levels in the language, everything else as it is."""
        return self._words.get(f"level_{name}", name)
