# On a fresh machine:
#   make demo          audits the embedded models, one of which writes about women and men, and makes their page
#   make demo-real     fetches a real model of 93 MB and audits it on a sample of items
#   make test          runs every check and every test
#   make test-oldest   runs the tests on the oldest versions that pyproject.toml allows
#   make docs          refreshes the generated parts of the documentation and builds the site
# Each makes its virtual environment first. PYTHON chooses the interpreter, VENV and OLDEST the folders.

SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV ?= .venv
OLDEST ?= .venv-oldest
BIN := $(VENV)/bin
WORKERS ?= 2
comma := ,
OLDEST_EXTRAS := crowd,german,gguf,postgres,ray,regard,test,train,translate,vectors

# One line for each package that is fetched, instead of all that pip says or nothing for minutes.
PACKAGES := awk '/^ *(Downloading|Using cached|Processing) .*[.]whl/ { \
	size = $$NF ~ /B[)]$$/ ? " " $$(NF - 1) " " $$NF : ""; \
	for (i = 1; i <= NF; i++) if ($$i ~ /[.]whl/) { parts = split($$i, path, "/"); split(path[parts], name, "-") } \
	print "    " name[1] " " name[2] size; fflush() } \
	/^Installing collected packages/ { print "    installing " NF - 3 " packages"; fflush() }'

.PHONY: demo demo-real test test-oldest check check-types check-rest docs constraints clean
.DELETE_ON_ERROR:

$(VENV)/.package: pyproject.toml constraints.txt
	@echo "Making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing Evenhand with PyTorch and Transformers: some hundred megabytes, a few minutes"
	@$(BIN)/pip install --progress-bar off --constraint constraints.txt --editable '.[train]' | $(PACKAGES)
	@touch $@

$(VENV)/.development: $(VENV)/.package
	@echo "Installing what the checks and tests need"
	@$(BIN)/pip install --progress-bar off --constraint constraints.txt --editable '.[dev]' | $(PACKAGES)
	@touch $@

$(OLDEST)/.package: pyproject.toml constraints-oldest.txt
	@echo "Making the virtual environment $(OLDEST) with the oldest versions"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/pip install --progress-bar off --constraint constraints-oldest.txt --editable '.[$(OLDEST_EXTRAS)]' \
		| $(PACKAGES)
	@touch $@

demo: $(VENV)/.package
	@echo "Auditing the four embedded models"
	@$(BIN)/evenhand audit --out runs/demo --fresh
	@echo "Letting an embedded model write about women and men"
	@$(BIN)/pip install --quiet --constraint constraints.txt scikit-learn simplemma
	@$(BIN)/evenhand regard audit lab:decoder-regard-en --texts 20 --out runs/demo --fresh
	@$(BIN)/evenhand report runs/demo/lab-*_en runs/demo/lab-*_en_regard --out runs/demo/index.html
	@echo "Open runs/demo/index.html in a browser. To use evenhand yourself: source $(BIN)/activate"

REAL := runs/real-model
demo-real: $(VENV)/.package
	@echo "Installing what reads GGUF files"
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[gguf]'
	@echo "Fetching SmolLM2-135M-Instruct (93 MB, Apache-2.0)"
	@$(BIN)/python examples/real_model/fetch.py $(REAL)
	@$(BIN)/evenhand audit $(REAL)/SmolLM2-135M-Instruct.Q4_1.gguf --language en --out $(REAL)/demo --fresh
	@$(BIN)/evenhand report $(REAL)/demo/*_en --out $(REAL)/demo/index.html
	@echo "Open $(REAL)/demo/index.html in a browser."

# A core for each worker: several threads in each would wait for one another. Neighbouring tests share fixtures, so
# each worker has a row of them, and one that is done takes over half of what the other has left.
test: check
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal

# Old libraries warn of their own age, and old ones of rich draw the tables in the documentation differently.
test-oldest: $(OLDEST)/.package
	OMP_NUM_THREADS=1 $(OLDEST)/bin/pytest -n $(WORKERS) --dist worksteal -W default --disable-warnings \
		-k "not generated_parts"

# Types take as long as all else together, so they are checked beside it.
check: $(VENV)/.development
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line check-types check-rest

check-types:
	$(BIN)/mypy

check-rest:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/.development
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict

# The newest versions of everything, and the oldest versions of what pyproject.toml names.
constraints:
	$(PYTHON) -m venv $(VENV)/fresh
	$(VENV)/fresh/bin/pip install --editable '.[all,dev]' uv
	$(VENV)/fresh/bin/pip freeze --exclude-editable --exclude evenhand --exclude uv > constraints.txt
	$(VENV)/fresh/bin/uv pip compile --resolution lowest-direct --python-version 3.11 --no-annotate --no-header \
		--constraint <(grep -E '^(axe-playwright-python|hypothesis|playwright|pytest|pytest-xdist|statsmodels|torch)==' \
		constraints.txt) $(patsubst %,--extra %,$(subst $(comma), ,$(OLDEST_EXTRAS))) --output-file constraints-oldest.txt pyproject.toml

clean:
	rm -rf $(VENV) $(OLDEST) runs site
