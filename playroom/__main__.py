"""`python -m playroom`: sits you down, in the browser or, with --terminal, in the terminal.

    python -m playroom --game=python_coinche --seats=strong,strong,me,strong --deals=8 --rival=strong
    python -m playroom --terminal --game=python_toepen
    python -m playroom --replay=runs/playroom/games.jsonl

Games and players are chosen on the page; what is named here can be chosen there too: any game that OpenSpiel can load,
any player that `cardtable.player.find_player` knows, files and module:function included.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import threading
import time
import webbrowser
from pathlib import Path

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError, require_one_of
from cardtable.progress import LateProgress
from playroom import catalog
from playroom.records import ME, read_records
from playroom.room import LIMIT_SECONDS, MOST_DEALS, House
from playroom.table import Table
from playroom.words import LANGUAGES

NEEDED = {False: ("starlette", "uvicorn", "websockets"), True: ("textual",)}  # for the browser, for the terminal
FOLDER = Path("runs/playroom")


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser("python -m playroom", description="A table to play at.", allow_abbrev=False)
    found.add_argument("--game", help="any sequential game OpenSpiel can load, ours included; opens its table at once")
    found.add_argument("--seats", help="who sits where: me, easy, medium, expert, or any player; commas between")
    found.add_argument("--deals", type=int, default=0, help="how many deals; 0, the default: as many as you like")
    found.add_argument("--seed", type=int, help="of the deals; without it they are new every time")
    found.add_argument("--rival", default="", help="a player that plays the same deals in your seat")
    found.add_argument("--player", action="append", default=[], help="a file, folder or module:function for the menus")
    found.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="CPU seconds a player may think of a move")
    found.add_argument("--terminal", action="store_true", help="play in the terminal, without a browser")
    found.add_argument("--replay", type=Path, help="look at the recorded games of this file, in the terminal")
    found.add_argument("--language", default="", help="en, fr, de, nl or zh; the default follows the game")
    found.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on; others than loopback need a token"
    )
    found.add_argument("--port", type=int, default=8230, help="0 takes any free one")
    found.add_argument("--folder", type=Path, default=FOLDER, help="where records and tables are kept")
    found.add_argument("--no-browser", action="store_true", help="only print the address")
    return found


def house_of(options: argparse.Namespace) -> House:
    """What was asked for, checked; UserError if a game or a player does not exist."""
    seats: tuple[str, ...] = ()
    game = options.game
    if not 0 <= options.deals <= MOST_DEALS:
        raise UserError(f"--deals is {options.deals}; allowed: 0 to {MOST_DEALS:,}")
    if options.seed is not None and not 0 <= options.seed < 1 << 31:
        raise UserError(f"--seed is {options.seed}; allowed: 0 to 2147483647")
    if not 0.01 <= options.limit <= 3600.0:
        raise UserError(f"--limit is {options.limit:g}; allowed: 0.01 to 3600 seconds")
    if options.seats and not game:
        raise UserError("--seats needs --game")
    if game:
        seats = seats_of(options.seats, game, [options.rival, *options.player])
    return House(
        folder=options.folder,
        game=game,
        seats=seats,
        deals=options.deals,
        seed=options.seed,
        rival=options.rival,
        players=tuple(options.player),
        limit=options.limit,
    )


def seats_of(text: str | None, game_name: str, others: list[str]) -> tuple[str, ...]:
    """The names of --seats, or a person among players of medium strength."""
    from playroom.advice import find_seat_player

    game = catalog.playable_game(game_name)
    number = game.num_players()
    if text is None:
        own = 2 if number == 4 and len(getattr(game, "teams", ())) == 2 and len(game.teams[0]) == 2 else 0
        names = [ME if seat == own else "medium" for seat in range(number)]
    else:
        names = split_names(text)
    if len(names) != number:
        raise UserError(f"--seats names {len(names)} players; {game_name} has {number} seats")
    if names.count(ME) > 1:
        raise UserError("--seats: you can sit on one chair only")
    for name in (*names, *others):
        if name and name != ME and name not in catalog.LEVELS:
            find_seat_player(name, game)
    return tuple(names)


def split_names(text: str) -> list[str]:
    """Commas inside parentheses belong to a name: `me,monte_carlo(worlds=10,rollout=team)`."""
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names]


def compile_games(asked: str | None) -> None:
    """Plays a moment of each game of the menu, so that what is to be compiled is compiled now, and seen to be."""
    games = [asked] if asked else [choice.variants[0][1] for choice in catalog.MENU]
    with LateProgress("compiling the games (once; cached afterwards)", len(games)) as progress:
        for done, name in enumerate(games):
            progress.update(done)
            game = catalog.playable_game(name)
            table = Table(game, seed=0, deal=0)
            while not table.is_over and table.moves < 60:
                for seat in range(game.num_players()):
                    table.view(seat)
                table.play(table.state.legal_actions()[0])


def serve(house: House, options: argparse.Namespace) -> None:
    from playroom.serving import bind, make_server

    address = bind(options.host, options.port)
    server = make_server(house, address)
    if address.warning:
        print(f"warning: {address.warning}", file=sys.stderr)
    url = address.url
    if options.language:
        url += f"{'&' if '?' in url else '?'}language={options.language}"
    print(f"The table is at {url}\nCtrl-C closes it; records are in {house.folder / 'games.jsonl'}", flush=True)
    if not options.no_browser:
        threading.Thread(target=_open_browser, args=(server, url), daemon=True).start()
    server.run(sockets=[address.sock])


def _open_browser(server: object, url: str) -> None:
    while not getattr(server, "started", False):
        time.sleep(0.05)
    webbrowser.open(url)


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    terminal = options.terminal or options.replay is not None
    for package in NEEDED[terminal]:
        if importlib.util.find_spec(package) is None:
            sys.exit(f"the table needs {package}, which is not installed: pip install 'cardspiel[play]'")
    try:
        if options.language:
            require_one_of("--language", options.language, LANGUAGES)
        if options.replay is not None:
            from playroom.terminal import replay_in_terminal

            replay_in_terminal(read_records(options.replay), options.language)
            return
        house = house_of(options)
        compile_games(options.game)
        if terminal:
            from playroom.terminal import play_in_terminal

            play_in_terminal(house, options.language)
        else:
            serve(house, options)
    except UserError as error:
        sys.exit(f"playroom: {' '.join(str(error).split())}")
    except OSError as error:
        sys.exit(f"playroom: {error.filename or ''} {error.strerror or error}".strip())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
