"""Players of Coinche that search: cards over worlds with open hands, calls over worlds and auctions."""
