# Everything the project does with itself.  `make demo` and `make test` set up what they need, on a fresh machine too.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test long fast conformance lint types format docs package pythons changelog oldest engines pages bench clean java

BIN := .venv/bin
CODE := hudiformat tests tools $(wildcard examples/*/*.py benchmarks/*.py benchmarks/*/*.py)
# The Java is looked up where it is used: it may have been installed just before.
WITH_JAVA = JAVA_HOME="$$($(BIN)/python tools/java.py)" PYSPARK_PYTHON="$(CURDIR)/$(BIN)/python"

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java .venv/.demo ## set up, then run the flights pipeline on PySpark: a Hudi table from real data
	$(WITH_JAVA) $(BIN)/python -m examples.flights

# What takes one core is done beside other work: the environment of real Hudi is built, and types are checked.
test: java ## set up, then lint and run every test, those on Spark and with real Hudi too
	@python=$$(sh tools/python.sh) && "$$python" tools/environments.py > /dev/null & \
	$(MAKE) --no-print-directory .venv/.dev
	$(MAKE) --no-print-directory lint & \
	$(WITH_JAVA) $(BIN)/python -m pytest -m "" --cov --durations 25; tests=$$?; \
	wait $$! && exit $$tests

long: ## run what `make test` runs, with all combinations, moments and examples: some hours; PART=1/3 runs a third
	HUDIFORMAT_LONG=1 HUDIFORMAT_PART=$(PART) PYTEST_ADDOPTS="$$PYTEST_ADDOPTS $(if $(PART),--cov-fail-under 0)" \
		$(MAKE) --no-print-directory test

fast: .venv/.dev ## run the tests that need no Java
	$(BIN)/python -m pytest

conformance: java .venv/.dev ## run the tests against real Apache Hudi
	$(WITH_JAVA) $(BIN)/python -m pytest -m hudi

lint: types ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# What mypy has found out serves other checkouts too: it compares contents, and a new clone takes two seconds, not fifty.
types: .venv/.dev ## check types alone
	$(BIN)/mypy --cache-dir "$${HUDIFORMAT_CACHE:-$$HOME/.cache/hudiformat}/types" $(CODE)

format: .venv/.dev ## rewrite the code in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv/.dev ## build the site of the documentation into build/site; every warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

engines: .venv/.made ## run the tests of Daft and Ray, in an environment of their own
	$(BIN)/python -m tools.engines

pages: .venv/.dev ## write the generated pages and pictures of the documentation anew
	$(BIN)/python -m tools.options_page
	$(BIN)/python -m tools.cli_page
	$(BIN)/python -m tools.compatibility_page
	$(BIN)/python -m tools.schema_page
	$(BIN)/python -m tools.figures
	$(BIN)/python -m tools.first_hour

package: .venv/.dev ## build sdist and wheels into dist, and try the wheel in an empty environment of each Python there is
	$(BIN)/python -m tools.package --keep dist

pythons: .venv/.made ## try the wheel and run the fast tests with each Python there is, and print what ran
	$(BIN)/python -m tools.pythons

changelog: .venv/.dev ## show what the next release's entry of the change log says
	$(BIN)/towncrier build --draft --version next

oldest: .venv/.made ## run the fast tests with the oldest dependencies that are allowed, in an environment of its own
	$(BIN)/python -m tools.oldest

bench: java .venv/.dev ## run the benchmarks; BENCH="--quick --plot plot.png" and the like say how
	$(WITH_JAVA) $(BIN)/python -m benchmarks $(BENCH)

clean: ## remove the virtual environment and everything generated; the cache of real Hudi stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* build dist spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Java comes first: when there is none and none can be installed, nothing else is worth the wait.
java:
	@python=$$(sh tools/python.sh) && "$$python" tools/java.py > /dev/null

.venv/.made:
	python=$$(sh tools/python.sh) && "$$python" tools/venv.py .venv && touch $@

.venv/.demo: .venv/.made pyproject.toml
	$(BIN)/python tools/install.py demo
	touch $@

.venv/.dev: .venv/.made pyproject.toml
	$(BIN)/python tools/install.py dev
	touch .venv/.demo $@
