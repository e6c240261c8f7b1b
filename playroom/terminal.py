"""The terminal face: the same room and the same messages as the page, drawn with textual.

Arrow keys and Enter choose, `h` asks for a hint, `w` for another adviser, `n` deals, `a` plays the same cards again,
`y` analyses, `r` looks at the deal again step by step. The last line says which of them mean something now.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Header, OptionList, Static
from textual.widgets.option_list import Option

from playroom import catalog
from playroom.compute import Compute
from playroom.records import ME, Record, Replay
from playroom.room import House, Room, Visitor
from playroom.session import Frame, replay_frame
from playroom.terminal_view import advice_text, card, seat_name, table_text
from playroom.words import Words

STYLE = """
#table { padding: 1 2; height: auto; }
#said { padding: 0 2; color: $text-muted; height: auto; }
#advice { padding: 0 2; height: auto; }
#choices { height: auto; max-height: 14; margin: 1 2; }
#choices.menu { max-height: 30; }
#keys { dock: bottom; height: 1; padding: 0 2; background: $panel; }
"""
PLAYING = (("h", "key_hint"), ("w", "adviser"), ("q", "leave"))
OVER = (("n", "key_next"), ("a", "practice"), ("y", "analyse"), ("r", "look_again"), ("q", "leave"))
STEPPING = (("←", "step_back"), ("→", "step_on"))


def keys_text(words: Words, keys: Sequence[tuple[str, str]]) -> Text:
    """What keys do, in the words of the page."""
    return Text("   ").join(Text.assemble((key, "bold"), f" {words(word)}") for key, word in keys)


def language_of(game: str | None) -> str:
    """The language a game is at home in."""
    choice = choice_of(game or "")
    return "en" if choice is None else choice.language


def choice_of(game: str) -> catalog.Choice | None:
    """The game of the menu of which this is a variant."""
    short = game.partition("(")[0]
    variants = [(choice, variant.partition("(")[0]) for choice in catalog.MENU for _, variant in choice.variants]
    return next((choice for choice, name in variants if name == short), None)


class TableApp(App[None]):
    """A table in the terminal."""

    CSS = STYLE
    BINDINGS: ClassVar[list[BindingType]] = [
        ("h", "hint", "hint"),
        ("w", "adviser", "another adviser"),
        ("n", "next", "next deal"),
        ("a", "again", "same again"),
        ("y", "analyse", "analyse"),
        ("r", "replay", "look again"),
        ("left", "step(-1)", "back"),
        ("right", "step(1)", "on"),
        ("q", "quit", "quit"),
    ]

    def __init__(self, house: House, language: str = "", room: Room | None = None) -> None:
        super().__init__()
        self.house = house
        self._language = language
        self.words = Words(language or language_of(house.game))
        self.room = room or Room(house, Compute(quiet=True))
        self.visitor = Visitor(self.hear)
        self.frame_view: dict[str, Any] | None = None
        self.names: Sequence[str] = ()
        self.result: Frame | None = None
        self.replay_at: tuple[int, int] | None = None  # step, steps
        self.errors: list[str] = []
        self._advisers: list[str] = []
        self._decisions: dict[int, str] = {}
        self._games: list[str] = []

    def compose(self) -> ComposeResult:
        yield Header()
        with VerticalScroll():
            yield Static(id="table")
            yield Static(id="said")
            yield OptionList(id="choices")
            yield Static(id="advice")
        yield Static(id="keys")

    async def on_mount(self) -> None:
        self.title = "CardSpiel"
        if self.house.game:
            await self._sit(self.house.game, list(self.house.seats))
        else:
            self._show_menu()
        self.query_one(OptionList).focus()

    async def on_unmount(self) -> None:
        await self.room.close()

    # ------------------------------------------------------------------------------------------------ choosing

    def _show_menu(self) -> None:
        named = [
            (" · ".join(dict.fromkeys((self.words(f"game_{choice.key}"), self.words(key)))), game)
            for choice in catalog.MENU
            for key, game in choice.variants
        ]
        named += [(game, game) for game in catalog.OTHERS]
        self._games = [game for _, game in named]
        self.query_one("#table", Static).update(Text(self.words("welcome")))
        self._offer([Option(name, id=f"game-{number}") for number, (name, _) in enumerate(named)])
        self.query_one(OptionList).add_class("menu")
        self._show_keys(PLAYING[-1:])

    def _show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        self.query_one("#keys", Static).update(keys_text(self.words, keys))

    async def _sit(self, game: str, seats: list[str]) -> None:
        if not seats:
            about = catalog.about_game(game)
            own = 2 if about["seats"] == 4 and [len(team) for team in about["teams"]] == [2, 2] else 0
            seats = [ME if seat == own else "medium" for seat in range(about["seats"])]
        if not self._language:
            self.words = Words(language_of(game))
        self.query_one("#table", Static).update(Text(self.words("preparing")))
        self._offer([])
        self.query_one(OptionList).remove_class("menu")
        await self._say("sit", game=game, seats=seats, deals=self.house.deals, rival=self.house.rival)

    async def _say(self, kind: str, **values: Any) -> None:
        await self.room.receive(self.visitor, json.dumps({"type": kind, **values}))

    def _offer(self, options: list[Option]) -> None:
        choices = self.query_one(OptionList)
        choices.clear_options()
        choices.add_options(options)
        choices.display = bool(options)
        if options:
            choices.highlighted = 0
            choices.focus()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        kind, _, number = (event.option_id or "").partition("-")
        if kind == "game":
            await self._sit(self._games[int(number)], [])
        elif kind == "play" and self.frame_view is not None:
            await self._say("play", action=int(number), moves=self.frame_view["moves"])

    # ------------------------------------------------------------------------------------------------ frames

    def hear(self, frame: Frame) -> None:
        """What the room says."""
        handler = getattr(self, f"_hear_{frame['type']}", None)
        if handler is not None and self.is_running:
            handler(frame)

    def _hear_table(self, frame: Frame) -> None:
        self.names = frame["names"]
        self._advisers = [entry["name"] for entry in frame["advisers"]]
        self.sub_title = frame["title"]

    def _hear_view(self, frame: Frame) -> None:
        self.frame_view = frame["view"]
        if frame["done"] is None:
            self.result, self.replay_at, self._decisions = None, None, {}
        else:
            done = frame["done"]
            who = seat_name(done["seat"], frame["view"], self.words)
            self._note(Text.assemble(f"{who}: ", card(done["name"], self.words)))
        self.query_one("#advice", Static).update("")
        self._show_keys(PLAYING if frame["view"]["actions"] else PLAYING[-1:])
        self._draw()

    def _draw(self) -> None:
        view = self.frame_view
        if view is None:
            return
        self.query_one("#table", Static).update(table_text(view, self.names, self.words))
        self._offer([Option(card(name, self.words), id=f"play-{action}") for action, name in view["actions"]])

    def _hear_result(self, frame: Frame) -> None:
        if frame["waiting"]:
            self._note(Text(self.words("other_table_plays")))
            return
        self.result = frame
        self._show_keys(OVER)
        view = self.frame_view or {"seats": frame["returns"]}
        parts = [f"{seat_name(seat, view, self.words)} {value:+g}" for seat, value in enumerate(frame["returns"])]
        lines = [f"{self.words('deal_over')}: {', '.join(parts)}"]
        if "difference" in frame:
            lines.append(f"{self.house.rival}: {frame['difference']:+g}")
        score = frame["score"]
        if score:
            lines.append(self.words("score_sum", deals=score["deals"], sum=f"{score['sum']:+g}"))
            if "low" in score:
                interval = f"{score['difference']:+.2f} ({score['low']:+.2f} … {score['high']:+.2f})"
                lines.append(f"{self.words('your_score')}: {interval}")
        self._note(Text("\n".join(lines), "bold"))

    def _hear_hint(self, frame: Frame) -> None:
        self.query_one("#advice", Static).update(advice_text(frame, self.words))

    def _hear_analysis(self, frame: Frame) -> None:
        for found in frame["decisions"]:
            cost = "" if found["cost"] is None else f"  −{found['cost']:.2f}"
            open_cards = self.words("open_cards", **found["open_cards"]) if "open_cards" in found else ""
            best = self.words.written(found["bars"][0]["name"])
            text = f"{found['step']:>3} {self.words.written(found['name'])}{cost}  ({best}) {open_cards}"
            self._decisions[found["step"]] = text.rstrip()
        progress = self.words("analysis_progress", done=frame["done"], of=frame["of"])
        lines = [Text(self.words("analysis") if frame["finished"] else progress, "bold")]
        for step, text in self._decisions.items():
            worst = step == frame.get("costliest")
            lines.append(Text(f"{text}  ! {self.words('costliest')}", "bold red") if worst else Text(text))
        self.query_one("#advice", Static).update(Text("\n").join(lines))

    def _hear_replay(self, frame: Frame) -> None:
        self.replay_at = (frame["step"], frame["steps"])
        self._show_keys((*STEPPING, *OVER))
        title = self.words("step", step=frame["step"], steps=frame["steps"])
        shown = table_text(frame["view"], frame["names"], self.words)
        self.query_one("#table", Static).update(Text.assemble((f"{title}\n", "bold"), shown))

    def _hear_notice(self, frame: Frame) -> None:
        self._note(Text(self.words(f"notice_{frame['key']}", player=frame["player"]), "yellow"))

    def _hear_error(self, frame: Frame) -> None:
        self.errors.append(frame["text"])
        self._note(Text(frame["text"], "red"))

    def _hear_left(self, frame: Frame) -> None:
        self._show_menu()

    def _note(self, text: Text) -> None:
        self.query_one("#said", Static).update(text)

    # ------------------------------------------------------------------------------------------------ keys

    async def action_hint(self) -> None:
        await self._say("hint", adviser=self._advisers[0] if self._advisers else None)

    def action_adviser(self) -> None:
        """The next one is asked from now on."""
        if self._advisers:
            self._advisers = [*self._advisers[1:], self._advisers[0]]
            self._note(Text(f"{self.words('adviser')}: {self._advisers[0]}"))

    async def action_next(self) -> None:
        await self._say("next")

    async def action_again(self) -> None:
        await self._say("again")

    async def action_analyse(self) -> None:
        await self._say("analyse", adviser=self._advisers[0] if self._advisers else None)

    async def action_replay(self) -> None:
        await self._say("replay", step=0)

    async def action_step(self, by: int) -> None:
        if self.replay_at is not None:
            await self._say("replay", step=max(0, self.replay_at[0] + by))


class ReplayApp(App[None]):
    """Recorded games, step by step."""

    CSS = STYLE
    BINDINGS: ClassVar[list[BindingType]] = [
        ("left", "step(-1)", "back"),
        ("right", "step(1)", "on"),
        ("n", "game(1)", "next game"),
        ("p", "game(-1)", "previous game"),
        ("q", "quit", "quit"),
    ]

    def __init__(self, records: Sequence[Record], language: str = "") -> None:
        super().__init__()
        self.records = records
        self._language = language
        self.number, self.step = 0, 0
        self.replay = Replay(records[0])

    def compose(self) -> ComposeResult:
        yield Header()
        with VerticalScroll():
            yield Static(id="table")
        yield Static(id="keys")

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        game = self.replay.record.game
        words = Words(self._language or language_of(game))
        self.query_one("#keys", Static).update(keys_text(words, (*STEPPING, ("n p", "open_record"), ("q", "leave"))))
        frame = replay_frame(self.replay, self.step)
        choice = choice_of(game)
        self.title = game.partition("(")[0] if choice is None else words(f"game_{choice.key}")
        self.sub_title = f"{self.number + 1}/{len(self.records)}"
        lines = [Text(words("step", step=frame["step"], steps=frame["steps"]), "bold")]
        done = frame["view"].get("done")
        if done:
            lines.append(Text.assemble(f"{seat_name(done['seat'], frame['view'], words)}: ", card(done["name"], words)))
        lines.append(table_text(frame["view"], frame["names"], words))
        if self.step == self.replay.steps:
            lines.append(Text(f"{words('result')}: {self.replay.record.returns}", "bold"))
        self.query_one("#table", Static).update(Text("\n").join(lines))

    def action_step(self, by: int) -> None:
        self.step = max(0, min(self.step + by, self.replay.steps))
        self._draw()

    def action_game(self, by: int) -> None:
        self.number = max(0, min(self.number + by, len(self.records) - 1))
        self.replay, self.step = Replay(self.records[self.number]), 0
        self._draw()


def end_with_the_terminal() -> None:
    """From now on this process ends when its terminal vanishes, as SIGHUP would have it, also where that is ignored.

    textual would read nothing from it again and again, and keep a core busy. Records are on the disk already.
    """
    if sys.__stdin__ is None or not sys.__stdin__.isatty():
        return
    vanished = select.poll()
    vanished.register(sys.__stdin__, 0)  # nothing else is waited for

    def watch() -> None:
        if any(event & select.POLLHUP for _, event in vanished.poll()):
            os._exit(128 + signal.SIGHUP)

    threading.Thread(target=watch, daemon=True).start()


def play_in_terminal(house: House, language: str = "") -> None:
    end_with_the_terminal()
    TableApp(house, language).run()


def replay_in_terminal(records: Sequence[Record], language: str = "") -> None:
    end_with_the_terminal()
    ReplayApp(records, language).run()
