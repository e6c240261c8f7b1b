"""Tables and figures behind the Gongzhu experiments."""
