"""A real chromium for tests of the page, driven by playwright; says what to install where something is missing."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHAT_TO_INSTALL = (
    "the tests of the page need playwright and a chromium: pip install playwright, and chromium with fonts-noto-cjk "
    "from your system (apt-get install chromium fonts-noto-cjk); CHROMIUM=<path> names another one"
)
AXE = Path(os.environ.get("AXE", ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"))
WITHOUT_MOTION = "localStorage.setItem('playroom-preferences', JSON.stringify({motion: false, language: 'en'}))"


def chromium_path() -> str | None:
    named = os.environ.get("CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail(WHAT_TO_INSTALL)
    path = chromium_path()
    if path is None:
        pytest.fail(WHAT_TO_INSTALL)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        found = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield found
        found.close()


class Guest:
    """Somebody at the page. `problems` must stay empty; `frames` is all that the socket brought."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self.frames: list[str] = []
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        page.on("websocket", lambda socket: socket.on("framereceived", lambda text: self.frames.append(text)))
        page.goto(url)
        page.wait_for_selector(".tile")

    def choose(self, tile: str, game: str, player: str = "easy") -> None:
        """A game of the menu, everybody else of one strength."""
        self.page.click(f"#game-{tile}")
        if self.page.locator(f'[data-game="{game}"]').count():
            self.page.click(f'[data-game="{game}"]')
        self.wait("document.querySelector('#sit') !== null")
        for chair in self.page.locator(".chairs select").all():
            if chair.input_value() != "me":
                chair.select_option(player)

    def wait(self, condition: str) -> None:
        """Until an expression is true; playwright's own way evaluates text in the page, which its policy forbids."""
        for _ in range(900):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"never true: {condition}")

    def sit(self) -> None:
        self.page.click("#sit")
        self.page.wait_for_selector("#felt .seat")

    def wait_for_turn(self) -> bool:
        """True when there is something to do, False when the deal is over."""
        self.page.wait_for_selector("#felt button[data-action], #next, #again")
        return self.page.locator("#again").count() == 0

    def play_with_mouse(self, most: int = 200) -> None:
        for _ in range(most):
            if not self.wait_for_turn():
                return
            with contextlib.suppress(Exception):  # drawn anew in this moment: look again
                first = self.page.locator("#felt button[data-action]").first
                box = first.bounding_box()  # left of the middle: the next card of a fan lies over the rest
                first.click(position={"x": 0.25 * box["width"], "y": 0.45 * box["height"]}, timeout=3000)
            self.page.wait_for_timeout(30)
        raise AssertionError("the game does not end")

    def tab_to(self, selector: str) -> None:
        """With the Tab key only, and arrows inside groups."""
        for _ in range(200):
            if self.page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
                return
            inside = self.page.evaluate(
                "wanted => document.activeElement.closest('.hand, .words, .bids, .board')?.querySelector(wanted)"
                " != null",
                selector,
            )
            self.page.keyboard.press("ArrowRight" if inside else "Tab")
        raise AssertionError(f"{selector} cannot be reached with the keyboard")

    def play_with_keyboard(self, most: int = 200) -> None:
        for _ in range(most):
            if not self.wait_for_turn():
                return
            with contextlib.suppress(AssertionError):  # the position changed while we went there
                self.tab_to("#felt button[data-action]")
                self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(30)
        raise AssertionError("the game does not end")


@contextlib.contextmanager
def guest(chromium: Any, url: str, width: int = 1280, height: int = 800, **context: Any) -> Iterator[Guest]:
    opened = chromium.new_context(viewport={"width": width, "height": height}, **context)
    opened.add_init_script(WITHOUT_MOTION)
    yield Guest(opened.new_page(), url)
    opened.close()
