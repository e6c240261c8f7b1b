from hypothesis import settings

# The first example pays for compilation, so no deadline; examples are chosen the same way in every run.
settings.register_profile("cardspiel", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("cardspiel")
