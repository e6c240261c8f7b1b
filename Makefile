# Everything runs in its own environment, .venv, with the versions of constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Bytecode is kept, whatever the environment says: hundreds of processes in the tests would each parse our sources anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo play test quick-tests test-slow test-browser test-cluster lint format peers clean

demo: $(READY)
	@$(BIN)/python -m experiments.demo

play: $(READY)
	@$(BIN)/python -c 'import starlette, textual, uvicorn, websockets' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[play]'
	@$(BIN)/python -m playroom $(ARGS)

test: $(READY)  # side by side: mypy needs one core for a minute where it has no cache yet
	@$(MAKE) --no-print-directory -j2 lint quick-tests

# Four workers on two cores: some wait for the processes they start, and for what another one is compiling. A test that takes five minutes says where it is.
quick-tests: $(READY)
	@$(call with_fresh_cache,$(BIN)/python -m pytest -n 4 --dist worksteal -m "not slow" -o faulthandler_timeout=300)

test-slow: $(READY)
	@$(call with_fresh_cache,$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not cluster and not browser")

# The table's page in a real chromium, which comes from your system; axe-core, which looks at access, from npm.
test-browser: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,play,browser]'
	@test -e $(VENV)/axe/node_modules/axe-core || npm install --silent --no-fund --no-audit --prefix $(VENV)/axe axe-core || \
		echo "without npm the tests with axe-core will fail: AXE=<path of axe.min.js> names it"
	@$(BIN)/python -m pytest -n 0 -m browser tests/playroom

# On a cluster that is simulated on this machine, by ray, which is installed for it.
test-cluster: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,cluster]'
	@$(call with_fresh_cache,$(BIN)/python -m pytest -n 0 -m cluster tests/cluster)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The programs we compare with; benchmarks and tests use them where they are installed.
peers: $(READY)
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,peers]'

clean:
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "CardSpiel needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.11" % sys.version.split()[0])'
	@echo "Setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

# Tests compile everything anew, so that they see what a newcomer's machine would see.
define with_fresh_cache
cache=$$(mktemp -d); NUMBA_CACHE_DIR=$$cache $(1); status=$$?; rm -rf $$cache; exit $$status
endef
