# make demo    sets everything up, simulates a stiff body two ways: ledgers, plots, a film
# make test    sets everything up, runs the tests
# make test-slow   the long tests, and all examples that the others draw; STIFFLY_ROUNDS=100 lets as
#                  many crowds visit the live page, STIFFLY_BODIES=10000 throws as many random bodies
# make test-gpu    what an NVIDIA card has to do, on one (CUDA 12; for 13: CUPY=cupy-cuda13x)
# make test-cluster   one body over 1 to 4 ranks, with Debian's PETSc (apt-get as root, .venv-cluster)
# make test-programs  Blender (bpy) and glTF's validator open what is exported (.venv-programs, 0.4 GB)
# make check   lint and types
# make locked  installs what the tests need by hash (Linux, x86_64, Python 3.11); then make test
# make audit   known vulnerabilities of what is in constraints.txt, where the advisories can be reached
# make docs    the site, into build/site; its index.html opens without a server
# make wheels  what would be published, into dist
# make gate    does any fixed run do more work than in the last release? counts, not seconds
# make bench   every benchmark (minutes; close other programs first)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LAB := src/stiffly_lab
# one BLAS thread per process, since the tests run side by side; they start many processes, which
# load faster from bytecode
QUIET := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

# what is installed has the versions that the tests pass with; CONSTRAINTS= for the newest
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix -c ,$(CONSTRAINTS))

.PHONY: demo test test-slow test-gpu test-cluster test-programs check locked audit docs wheels gate bench clean

demo: $(VENV)/.installed-demo
	$(BIN)/stiffly demo
	@echo "(stiffly is in $(VENV)/bin: '. $(VENV)/bin/activate' makes it known to your shell)"

test: $(VENV)/.installed-test
	$(QUIET) $(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow"

test-slow: $(VENV)/.installed-test
	$(QUIET) HYPOTHESIS_PROFILE=all $(BIN)/python -m pytest -n auto --dist loadgroup \
	  -m "slow or hypothesis"

CUPY ?= cupy-cuda12x
test-gpu: $(VENV)/.installed-test
	$(PIP) $(CUPY)
	$(QUIET) $(BIN)/python -m pytest tests/gpu

test-cluster:
	.ci/cluster

test-programs: $(VENV)/.installed-test
	.ci/programs

check: $(VENV)/.installed-check
	$(BIN)/ruff check src tests benchmarks examples docs/images docs/conf.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/images docs/conf.py
	$(BIN)/pyright

# the checkout itself can have no hash: it is installed without what it needs, by what is there
locked: $(VENV)/bin/python
	@$(BIN)/python -c 'import sys, platform as p; sys.exit((p.system(), p.machine(), sys.version_info[:2]) != ("Linux", "x86_64", (3, 11)))' \
	  || { echo "hashes.txt is for Linux, x86_64 and Python 3.11: make test installs the same versions elsewhere"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r hashes.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e ./$(LAB)
	@touch $(VENV)/.installed $(VENV)/.installed-test

# pip-audit exits with 1 for what it found and for advisories that it could not ask, and with 0 where
# it was told nothing of a package: its words tell
audit: $(VENV)/.installed-audit
	@$(BIN)/pip-audit --progress-spinner off --disable-pip --no-deps -r constraints.txt > $(VENV)/audit.txt 2>&1; \
	  code=$$?; cat $(VENV)/audit.txt; skipped=$$(grep -c "could not be audited" $(VENV)/audit.txt); \
	  if grep -qiE "ConnectionError|Max retries|ServiceError|timed out|HTTPError" $(VENV)/audit.txt; then \
	    skipped=all; code=0; fi; \
	  if [ "$$skipped" != 0 ]; then \
	    echo "not audited: $$skipped of $$(grep -c == constraints.txt) packages; the service that knows of vulnerabilities cannot be reached from here, or does not know them"; fi; \
	  exit $$code

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "open build/site/index.html"

# from nothing: setuptools would pack files of an earlier build that are no longer there
wheels: $(VENV)/bin/python
	rm -rf build/lib build/bdist.* $(LAB)/build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist . ./$(LAB)
	@ls dist

gate: $(VENV)/.installed-test
	$(BIN)/python benchmarks/work.py

bench: $(VENV)/.installed-bench
	for script in phi_action fput kernels scaling skew forces bristles cloth secant pairs local_global rope realtime contact folded_cloth falling_on_cloth factor particle_order recording live live_page; do $(BIN)/python benchmarks/$$script.py || exit 1; done

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "stiffly needs Python 3.11 or newer: set PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml $(LAB)/pyproject.toml $(CONSTRAINTS)
	@echo "installing stiffly and what it needs into $(VENV) (first time only: about a minute)"
	$(PIP) -e . -e ./$(LAB)
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed pyproject.toml
	@echo "installing the tools for 'make $*'"
	$(PIP) -e ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-cluster .venv-programs build dist src/*.egg-info $(LAB)/build $(LAB)/*.egg-info
