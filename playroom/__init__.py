"""A table to play at: every game, in the browser and in the terminal, with any player in any seat.

`python -m playroom` (or `make play`) serves a page on this machine; `python -m playroom --terminal` needs no browser.
Nothing here knows the rules of a game: positions come from pyspiel, what a seat sees from the game's own
`table(state, seat)`, moves from `cardtable.player`. Nothing else imports this package.
"""
