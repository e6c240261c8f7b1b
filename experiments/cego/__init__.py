"""Tables, figures and training behind the Cego experiments."""
