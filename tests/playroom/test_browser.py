"""The page in a real chromium: every game by mouse and by keyboard, access, secrets, reloads. `make test-browser`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from playroom import catalog
from playroom.records import Replay, parse_record
from playroom.serving import Address
from tests.playroom.browsing import AXE, browser, guest
from tests.playroom.visits import serving

pytestmark = [pytest.mark.slow, pytest.mark.browser]
VARIANTS = {choice.key: [game for _, game in choice.variants] for choice in catalog.MENU}
GAMES = [
    ("coinche", "python_coinche"),
    ("toepen", "python_toepen"),
    *(("cego", game) for game in VARIANTS["cego"]),
    ("gongzhu", "python_gongzhu"),
    ("kuhn_collab", "python_kuhn_collab"),
    ("others", "leduc_poker"),
    ("others", "tic_tac_toe"),
]

OUTSIDE = """(() => {
    const felt = document.querySelector('#felt').getBoundingClientRect();
    return [...document.querySelectorAll('.hand-card .card')].map(card => card.getBoundingClientRect())
        .filter(box => box.left < felt.left || box.right > felt.right || box.bottom > felt.bottom).map(String);
})()"""

LOWEST = """card => {
    const box = card.getBoundingClientRect(), x = box.left + box.width / 2;
    let y = box.bottom + 20;
    while (!card.contains(document.elementFromPoint(x, y))) y--;
    return [x, y];
}"""

TOPS = """async card => {
    const tops = [];
    for (let frame = 0; frame < 40; frame++) {
        await new Promise(requestAnimationFrame);
        if (frame >= 10) tops.push(Math.round(card.getBoundingClientRect().top));
    }
    return tops;
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    with serving(tmp_path_factory.mktemp("playroom"), seed=11) as found:
        yield found


@pytest.mark.parametrize(("tile", "game"), GAMES)
def test_a_game_by_mouse(chromium: Any, address: Address, tile: str, game: str) -> None:
    with guest(chromium, address.url) as someone:
        someone.choose(tile, game)
        someone.sit()
        someone.play_with_mouse()
        assert someone.problems == []


@pytest.mark.parametrize(("tile", "game"), GAMES)
def test_a_game_by_keyboard(chromium: Any, address: Address, tile: str, game: str) -> None:
    with guest(chromium, address.url) as someone:
        someone.choose(tile, game)
        someone.tab_to("#sit")
        someone.page.keyboard.press("Enter")
        someone.page.wait_for_selector("#felt .seat")
        someone.play_with_keyboard()
        someone.page.keyboard.press("n")
        someone.wait("document.querySelector('#subtitle').textContent.includes('2')")
        assert someone.problems == []


def test_no_frame_of_a_running_game_tells_a_secret(chromium: Any, address: Address) -> None:
    with guest(chromium, address.url) as someone:
        someone.choose("coinche", "python_coinche")
        someone.sit()
        someone.page.click("#felt .bid >> nth=0")
        someone.play_with_mouse()
        frames = [json.loads(text) for text in someone.frames]
    record = next(frame["record"] for frame in frames if frame["type"] == "result" and not frame["waiting"])
    seat = parse_record(record).seats.index("me")
    seen = set(Replay(parse_record(record)).view(0)["seats"][seat]["shown"])
    for frame in frames:
        if frame["type"] in ("result", "replay"):
            break
        text = json.dumps(frame, ensure_ascii=False)
        if frame["type"] == "view" and frame["done"]:
            seen.add(frame["done"]["name"])
        named = set(re.findall(r'"((?:10|[789JQKA])[♠♥♦♣])"', text))
        assert named <= seen
        assert "seed" not in text


def test_a_reload_keeps_the_position(chromium: Any, address: Address) -> None:
    with guest(chromium, address.url) as someone:
        someone.choose("gongzhu", "python_gongzhu")
        someone.sit()
        someone.wait_for_turn()
        hand = "[...document.querySelectorAll('.hand-card')].map(card => card.dataset.card).join(' ')"
        before = someone.page.evaluate(hand)
        someone.page.reload()
        someone.page.wait_for_selector("#felt .hand-card")
        assert someone.page.evaluate(hand) == before
        someone.page.context.set_offline(True)
        someone.page.context.set_offline(False)
        someone.wait_for_turn()
        assert someone.page.evaluate(hand) == before


def test_hint_analysis_replay_and_record(chromium: Any, address: Address) -> None:
    with guest(chromium, address.url) as someone:
        page = someone.page
        someone.choose("toepen", "python_toepen(suits=3,ranks=3,hand_size=2)")
        someone.sit()
        someone.wait_for_turn()
        page.keyboard.press("h")
        page.wait_for_selector(".hint .bars li")
        assert "equilibrium" in page.inner_text(".hint .small >> nth=0")
        shares = [float(text.rstrip(" %")) for text in page.locator(".bar-value").all_inner_texts()]
        assert sum(shares) == pytest.approx(100, abs=0.3)
        someone.play_with_mouse()
        page.click("#analyse")
        someone.wait("document.querySelectorAll('.analysis details').length > 0")
        page.click("#replay")
        page.wait_for_selector("#step-on")
        page.click("#step-on")
        someone.wait("document.querySelector('.step').textContent.includes('1')")
        page.click("#close-replay")
        page.wait_for_selector("#again")
        assert someone.problems == []


@pytest.mark.parametrize(("tile", "game"), [("coinche", "python_coinche"), ("cego", "python_cego(subgame=standard)")])
def test_axe_finds_nothing_serious(chromium: Any, address: Address, tile: str, game: str) -> None:
    assert AXE.exists(), "axe-core is missing: npm install --prefix .venv/axe axe-core (or AXE=<path of axe.min.js>)"
    with guest(chromium, address.url, bypass_csp=True) as someone:
        page = someone.page

        def check(where: str) -> None:
            page.add_script_tag(path=str(AXE))
            found = page.evaluate("axe.run().then(found => found.violations)")
            serious = [
                (where, entry["id"], [node["html"][:120] for node in entry["nodes"][:3]])
                for entry in found
                if entry["impact"] in ("serious", "critical")
            ]
            assert serious == []

        someone.choose(tile, game)
        check("lobby")
        someone.sit()
        someone.wait_for_turn()
        check("table")
        names = page.locator(".hand-card .unseen").all_text_contents()
        assert len(names) == page.locator(".hand-card").count() > 0
        assert all(len(name) > 2 for name in names)
        page.click("#settings-button")
        check("settings")
        page.keyboard.press("Escape")
        someone.play_with_mouse()
        check("result")


@pytest.mark.parametrize(("tile", "game"), GAMES)
@pytest.mark.parametrize(("width", "scale"), [(360, 1), (640, 2)])  # a phone; 200% zoom of 1280
def test_nothing_is_cut_off_sideways(
    chromium: Any, address: Address, tile: str, game: str, width: int, scale: int
) -> None:
    with guest(chromium, address.url, width, 740, device_scale_factor=scale) as someone:
        wide = "[document.documentElement.scrollWidth, innerWidth]"
        someone.choose(tile, game)
        assert someone.page.evaluate(wide)[0] <= width
        someone.sit()
        someone.wait_for_turn()
        assert someone.page.evaluate(wide)[0] <= width
        assert someone.page.evaluate(OUTSIDE) == [], "cards lie beyond the edge of the table"


@pytest.mark.parametrize(
    ("returns", "teams", "ahead"),
    [
        ([130, -130, 130, -130], [[0, 2], [1, 3]], 1),
        ([24, 55, 55, 55], [[0], [1, 2, 3]], -1),  # Cego: everybody's result is what the own side took
        ([1, 0, 1, 1], [], 1),  # Räuber: one loses
        ([0, 0], [], 0),
    ],
)
def test_who_has_won(chromium: Any, address: Address, returns: list, teams: list, ahead: int) -> None:
    with guest(chromium, address.url) as someone:
        ask = "([returns, teams]) => import('/static/side.js').then(side => side.lead(returns, {seat: 0, teams}))"
        found = someone.page.evaluate(ask, [returns, teams])
        assert (found > 0) - (found < 0) == ahead


def test_a_card_stays_up_under_the_pointer(chromium: Any, address: Address) -> None:
    """It rises when the pointer comes to its lower edge, which is then no longer the card's."""
    with guest(chromium, address.url) as someone:
        someone.choose("gongzhu", "python_gongzhu")
        someone.sit()
        someone.wait_for_turn()
        card = someone.page.locator(".hand-card.legal").last
        top = card.bounding_box()["y"]
        x, y = card.evaluate(LOWEST)
        someone.page.mouse.move(x, y - 3)
        tops = set(card.evaluate(TOPS))
        assert len(tops) == 1
        assert tops.pop() < top


@pytest.mark.parametrize("language", ["en", "fr", "de", "nl", "zh"])
def test_languages(chromium: Any, address: Address, language: str) -> None:
    with guest(chromium, address.url) as someone:
        someone.page.click("#settings-button")
        someone.page.select_option("#language", language)
        someone.page.keyboard.press("Escape")
        said = {"en": "Sit down", "fr": "S'asseoir", "de": "Hinsetzen", "nl": "Gaan zitten", "zh": "入座"}[language]
        someone.wait(f"document.querySelector('#sit')?.textContent === {json.dumps(said)}")
        assert someone.page.evaluate("document.documentElement.lang").startswith(language)
