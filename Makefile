# Two commands on a fresh machine:
#   make demo   audits the embedded models and writes their page
#   make test   runs every check and every test
# Both make the virtual environment first. PYTHON chooses the interpreter, VENV the folder.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test check docs constraints clean
.DELETE_ON_ERROR:

$(VENV)/.package: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --constraint constraints.txt --editable '.[hf]'
	@touch $@

$(VENV)/.development: $(VENV)/.package
	$(BIN)/pip install -qq --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.package
	$(BIN)/evenhand audit --out runs/demo --fresh
	$(BIN)/evenhand report runs/demo/lab-*_en --out runs/demo/index.html
	@echo "Open runs/demo/index.html in a browser."

# A core for each worker: several threads in each would wait for one another.
test: check
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS)

check: $(VENV)/.development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/.development
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict

constraints:
	$(PYTHON) -m venv $(VENV)/fresh
	$(VENV)/fresh/bin/pip install -qq --editable '.[dev]'
	$(VENV)/fresh/bin/pip freeze --exclude-editable --exclude evenhand > constraints.txt

clean:
	rm -rf $(VENV) runs site
