"""A view as lines of coloured text, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from playroom.views import View
from playroom.words import COLOURS, Words

PLACES = {2: ("you", "opponent"), 4: ("you", "at_left", "at_top", "at_right")}


def seat_name(seat: int, view: View, words: Words) -> str:
    """`you`, `opponent`, or where somebody sits."""
    seats = len(view["seats"])
    around = (seat - (view.get("seat") or 0)) % seats
    if seats not in PLACES or (around == 0 and view.get("open")):
        return f"{words('seat')} {seat + 1}"
    return words(PLACES[seats][around])


def card(name: str, words: Words) -> Text:
    """A card or call in the colour of its suit; trumps of Cego in one of their own."""
    style = COLOURS.get(name[-1:], "bold magenta" if name[:1] in ("T", "G") and len(name) > 1 else "bold")
    return Text(words.written(name), style)


def cards(names: Sequence[str], words: Words) -> Text:
    return Text(" ").join(card(name, words) for name in names)


def table_text(view: View, names: Sequence[str], words: Words) -> Text:
    """Seats, what lies on the table, the own hand."""
    if view["kind"] == "plain":
        return Text(view["text"] or "…")
    lines = []
    for seat in range(len(view["seats"])):
        lines.append(_seat_line(seat, view, names, words))
    lines.append(Text())
    for key, value in view["facts"]:
        lines.append(Text.assemble((f"{words(f'fact_{key}')}: ", "dim"), _fact(value, words)))
    for key, pile in view["piles"].items():
        shown = Text(f"{pile} ▮") if isinstance(pile, int) else cards(pile, words)
        lines.append(Text.assemble((f"{words(f'pile_{key}')}: ", "dim"), shown))
    for team in view["teams"]:
        figures = ", ".join(f"{words(f'figure_{key}')} {value}" for key, value in team["figures"].items())
        own = (view.get("seat") or 0) in team["seats"]
        if figures:
            lines.append(Text(f"{words('us' if own else 'them')}: {figures}"))
    if view["last_trick"]:
        lines.append(
            _trick(words("last_trick"), view["last_trick"]["cards"], view["last_trick"]["winner"], view, words)
        )
    if view["trick"]:
        lines.append(_trick(words("trick"), view["trick"], view["winning"], view, words))
    if view["phase"] in ("auction", "bet") and view["calls"]:
        said = Text(", ").join(
            Text.assemble(f"{seat_name(seat, view, words)} ", card(call, words)) for seat, call in view["calls"][-12:]
        )
        lines.append(Text.assemble((f"{words('calls')}: ", "dim"), said))
    lines += [Text(), Text.assemble((f"{words('your_hand')}: ", "dim"), cards(view["hand"], words))]
    return Text("\n").join(lines)


def _seat_line(seat: int, view: View, names: Sequence[str], words: Words) -> Text:
    of_seat: dict[str, Any] = view["seats"][seat]
    mark = "▶ " if view["turn"] == seat else "  "
    line = Text.assemble((mark, "bold yellow"), (f"{seat_name(seat, view, words):<12}", "bold"))
    name = names[seat] if seat < len(names) else ""
    line.append(f"{words.level(name) if name != 'me' else '':<14} ", "dim")
    if view["dealer"] == seat:
        line.append(f"{words('tag_dealer')} ", "cyan")
    for tag in of_seat["tags"]:
        line.append(f"{words(f'tag_{tag}')} ", "yellow")
    for key, value in of_seat["figures"].items():
        line.append(f"{words(f'figure_{key}')} {value}  ")
    if of_seat["shown"]:
        line.append_text(cards(of_seat["shown"], words))
    else:
        line.append("▮" * of_seat["cards"], "red")
    if of_seat["taken"]:
        line.append("  ")
        line.append_text(cards(of_seat["taken"], words))
    return line


def _trick(title: str, plays: Sequence[Sequence[Any]], winner: int | None, view: View, words: Words) -> Text:
    line = Text(f"{title}: ", "dim")
    for seat, name in plays:
        line.append(f" {seat_name(seat, view, words)} ", "")
        line.append_text(card(name, words))
        if seat == winner:
            line.append(" ★", "bold yellow")
    return line


def _fact(value: Any, words: Words) -> Text:
    if isinstance(value, bool):
        return Text(words("yes" if value else "no"), "bold")
    return card(value, words) if isinstance(value, str) else Text(str(value), "bold")


def advice_text(advice: dict[str, Any], words: Words) -> Text:
    """A bar for every action."""
    lines = [Text(f"{words('hint')}: {advice['adviser']}", "bold")]
    tried = [bar for bar in advice["bars"] if not bar.get("untried")]
    values = [bar.get("value", 0.0) for bar in tried]
    low, high = min(values), max(values)
    for bar in tried:
        if "probability" in bar:
            share, text = bar["probability"], f"{100 * bar['probability']:.1f} %"
        elif "value" in bar:
            share = (bar["value"] - low) / (high - low) if high > low else 1.0
            text = f"{bar['value']:.2f}" + (f" ± {1.96 * bar['error']:.2f}" if bar.get("error") else "")
        else:
            share, text = 1.0, words("hint_choice")
        line = card(bar["name"], words)
        line.pad_right(max(12 - len(line), 1))
        line.append("█" * max(1, round(20 * share)), "yellow")
        line.append(f" {text}{'  ≈ ' + words('too_close') if bar.get('close') else ''}", "")
        lines.append(line)
    left = [words.written(bar["name"]) for bar in advice["bars"] if bar.get("untried")]
    if left:
        shown = ", ".join(left[:4]) + (" …" if len(left) > 4 else "")
        lines.append(Text(words("hint_untried", names=shown), "dim"))
    return Text("\n").join(lines)
