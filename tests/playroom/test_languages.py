"""All languages say the same things: equal keys, equal places to fill in; every word that the page wants is there."""

import json
import re
from pathlib import Path

import pytest

from playroom.__main__ import main

STATIC = Path(__file__).resolve().parents[2] / "playroom" / "static"
LANGUAGES = {path.stem: json.loads(path.read_text()) for path in (STATIC / "languages").glob("*.json")}


def test_there_are_five() -> None:
    assert LANGUAGES.keys() == {"en", "fr", "de", "nl", "zh"}


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_keys_and_places_are_those_of_english(code: str) -> None:
    words, english = LANGUAGES[code], LANGUAGES["en"]
    assert words.keys() == english.keys()
    for key, text in words.items():
        assert isinstance(text, str)
        assert text.strip()
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", english[key])), key


def test_every_word_that_scripts_ask_for_is_there() -> None:
    scripts = "".join(path.read_text() for path in STATIC.glob("*.js")) + (STATIC / "index.html").read_text()
    asked = set(re.findall(r'\bt\("(\w+)"', scripts)) | set(re.findall(r'data-word(?:-label)?="(\w+)"', scripts))
    assert len(asked) > 80
    assert asked <= LANGUAGES["en"].keys()


def test_words_for_facts_figures_tags_and_piles_are_there() -> None:
    """Keys that games put on the table, read off their sources."""
    root = STATIC.parents[1]
    sources = "".join(path.read_text() for path in root.glob("*/table.py") if path.parent.name != "playroom")
    sources += (root / "coinche_spiel/match.py").read_text() + (root / "transforms/partner_oracle.py").read_text()
    facts = set(re.findall(r'\["(\w+)", ', sources))
    assert {"contract", "stake", "pot", "target", "oracle", "doubled"} <= facts
    tagged = " ".join(re.findall(r"tag\([^\n]*\[([^\]]*)\]\)", sources))
    tags = set(re.findall(r'"(\w+)"', tagged))
    assert {"declarer", "single", "folded"} <= tags
    wanted = {f"fact_{name}" for name in facts} | {f"tag_{name}" for name in tags}
    wanted |= {f"figure_{name}" for name in ("tricks", "points", "paid", "score")} | {"pile_blind", "pile_legage"}
    assert wanted <= LANGUAGES["en"].keys()


def test_a_language_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(SystemExit, match="--language is 'xx'; allowed: en, fr, de, nl, zh"):
        main(["--language=xx", "--no-browser", "--port=0"])
