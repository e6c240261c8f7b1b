"""Deep Monte Carlo on the batch engine: values of actions from returns, after a start distilled from playouts."""
