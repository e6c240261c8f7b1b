"""The server through a real socket, without a browser."""

from collections.abc import Iterator

import pytest

from playroom.serving import Address
from tests.playroom.visits import serving, visiting


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    with serving(tmp_path_factory.mktemp("playroom")) as found:
        yield found


def test_a_deal_is_played(address: Address) -> None:
    with visiting(address) as visit:
        visit.say("hello")
        assert visit.hear("welcome")["menu"]
        visit.sit("python_coinche", ["strong", "strong", "me", "strong"])
        result = visit.play_deal()
        assert sum(result["returns"]) == 0
