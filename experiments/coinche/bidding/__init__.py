"""How the numbers of the Coinche bidders are made: solved deals, auctions on them, regression, tuning."""
