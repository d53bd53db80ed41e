# `make` alone lists the targets. PYTHON names another Python: make demo PYTHON=python3.12
PYTHON ?= python3
# How many compilers run at once.
JOBS ?= 2
# How many tests run at once: they wait for other programs a third of their time.
TESTS = $(shell expr $(JOBS) + 1)
# How long `make fuzz` looks, each way.
SECONDS ?= 120
BIN := .venv/bin
BUF := cd proto && node_modules/.bin/buf
STUBS := agent_clients/python
TYPESCRIPT := agent_clients/typescript
C_FILES := find agent_clients/cpp agent_clients/c agent_clients/minimal -name '*.cc' -o -name '*.c' -o -path 'agent_clients/c*/src/*.h' -o -path 'agent_clients/cpp/*.h'
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)

# Tests start hundreds of programs: compiled modules that are kept save each a fifth of its start.
unexport PYTHONDONTWRITEBYTECODE
# What the machine lacks is unpacked there, and not installed.
export PATH := $(CURDIR)/build/julia/bin:$(PATH)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help help-all setup demo dist docs pages reference picture chaos simulate signals crowd cheats mutants test test-python fuzz test-clients test-containers check conformance coverage speed scaling format proto \
	proto-image constraints clean clients cpp onnxruntime wire sanitize tidy c julia typescript units tools docker \
	check-style check-types check-layers check-proto check-stubs \
	check-tests check-clients check-containers ready-clients tested-clients every-test every-client-test

FIRST := setup demo test check docs format conformance speed chaos clean help-all
help: ## list the targets that people need most
	@awk -F ' ## ' -v first=' $(FIRST) ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); \
		if (first == "  " || index(first, " " $$1 " ")) printf "%-15s %s\n", $$1, $$2 }' Makefile

help-all: ## list all targets
	@$(MAKE) --no-print-directory help FIRST=

setup: .venv/dev-is-installed ## make .venv with everything a developer needs

demo: .venv/is-installed ## evaluate an agent process on Meta-World and name its report
	$(BIN)/reglue bench MT10 --agent expert --num-episodes 5 --seed 42 --out $(DEMO)
	$(BIN)/reglue report $(DEMO)

# What a machine has no tools for is left out, and said: `make reference` makes all, as `make check` does. Without any of it, or
# as it was made last: `make pages`.
docs: .venv/dev-is-installed ## build the documentation into site/, or fail at a broken link
	@$(call made-by,.ci/doxygen,the references of C and C++,build/api/c/index.xml build/api/cpp/index.xml)
	@$(call made-by,.ci/julia build/julia,the reference of Julia,build/api/julia/Reglue.md)
	@$(call made-by,.ci/node,the reference of TypeScript and search from disk,build/api/typescript/README.md $(OFFLINE))
	$(MAKE) pages

made-by = if $(1); then $(MAKE) $(3); else echo "The site is built without $(2)." >&2; fi

pages: .venv/dev-is-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The doc comments in other languages, and the script by which a site searches that is opened from disk.
OFFLINE := docs/_hooks/node_modules/is-installed
reference: $(addprefix build/api/,c/index.xml cpp/index.xml julia/Reglue.md typescript/README.md) $(OFFLINE)

build/api/c/index.xml: $(wildcard agent_clients/c/include/*.h)
build/api/cpp/index.xml: $(wildcard agent_clients/cpp/include/reglue/*.h)
build/api/%/index.xml: docs/api/Doxyfile
	.ci/doxygen
	mkdir -p $(@D)
	{ cat $<; echo "INPUT = agent_clients/$*/include"; echo "OUTPUT_DIRECTORY = $(@D)"; } | doxygen -

build/api/julia/Reglue.md: docs/api/julia.jl $(wildcard agent_clients/julia/src/*.jl)
	.ci/julia build/julia
	rm -rf $(@D)
	julia --startup-file=no -O0 --project=agent_clients/julia $< $(@D)

build/api/typescript/README.md: $(TYPESCRIPT)/node_modules/is-installed $(TYPESCRIPT)/typedoc.config.js \
		$(shell find $(TYPESCRIPT)/src -name '*.ts' -not -path '*/gen/*')
	cd $(TYPESCRIPT) && npm run reference

dist: .venv/dev-is-installed ## build the sdist and the wheel into dist/
	$(BIN)/python -m build

picture: .venv/dev-is-installed ## draw docs/assets/report.png; needs chromium
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/picture

# What `make test` leaves to `make check`: the marks of pyproject.toml.
MARKS := chromium or clients or images or postgresql or ray or sandbox or slow
PYTEST := $(BIN)/python -m pytest --dist worksteal --durations 20
ELSEWHERE := --ignore tests/agent_clients --ignore tests/docker

test: .venv/dev-is-installed ## run the tests that need nothing but Python, in minutes
	$(PYTEST) $(ELSEWHERE) -n $(TESTS) -m "not ($(MARKS))"

test-python: .venv/dev-is-installed $(OFFLINE) ## run every test but those of other languages and of containers
	.ci/gl
	.ci/sandbox
	.ci/postgres
	.ci/chromium
	$(PYTEST) $(ELSEWHERE) -n $(TESTS) -m "not clients"

fuzz: .venv/dev-is-installed ## look for messages that break a decoder, for SECONDS; KEEP=1 adds to the corpus
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(KEEP),--keep)
	[ -z "$$(command -v clang++)" ] || .ci/fuzz-cpp $(SECONDS)

test-clients: ready-clients ## the clients in other languages: their tests, and the protocol's rules
	$(MAKE) tested-clients

# TypeScript's sources are generated anew for the pages of reference: not while they are compiled or linted.
ready-clients: clients onnxruntime wire
	$(MAKE) reference

tested-clients: tidy sanitize units every-client-test

units:
	ctest --test-dir build/cpp -j $(JOBS) --output-on-failure
	ctest --test-dir build/c -j $(JOBS) --output-on-failure
	cd $(TYPESCRIPT) && npm run lint && npm run test:built

every-client-test: .venv/dev-is-installed
	$(PYTEST) -n $(TESTS) tests/agent_clients

test-containers: .venv/dev-is-installed docker ## the bake-off, the competition, projects and shells in containers, unless REGLUE_NO_DOCKER=1
	$(BIN)/python -m pytest --durations 10 tests/docker

docker:
	[ "$(REGLUE_NO_DOCKER)" = 1 ] || .ci/docker

clients: cpp c julia typescript ## build the clients in other languages

wire: ## see to what builds the agents of agent_clients/minimal, which use no SDK
	.ci/cpp
	.ci/go
	.ci/java

CMAKE := cmake -G Ninja -DREGLUE_STRICT=ON
# `make check` compiles beside tests, which go first.
BUILD := nice cmake --build

cpp: ## build the C++ client
	.ci/cpp
	$(CMAKE) -S agent_clients/cpp -B build/cpp
	$(BUILD) build/cpp

SANITIZED := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Compiled many at a time: gRPC's headers take longer than the sources.
CLANG := CC=clang CXX=clang++ $(CMAKE) -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 -DCMAKE_CXX_FLAGS_DEBUG=-g1
sanitize: .venv/dev-is-installed ## test the C and C++ clients by clang under ASan, UBSan and TSan, in debug builds
	.ci/cpp
	.ci/clang
	$(CLANG) -S agent_clients/cpp -B build/sanitize -DREGLUE_SANITIZE=address,undefined -DREGLUE_EXAMPLES=OFF
	$(BUILD) build/sanitize
	ctest --test-dir build/sanitize -j $(JOBS) --output-on-failure
	CFLAGS="$(SANITIZED)" CXXFLAGS="$(SANITIZED)" LDFLAGS="-fsanitize-link-c++-runtime -lstdc++" \
		$(CLANG) -S agent_clients/c -B build/sanitize-c -Dreglue_DIR=$(CURDIR)/build/sanitize
	$(BUILD) build/sanitize-c
	ctest --test-dir build/sanitize-c -j $(JOBS) --output-on-failure
	printf '%s\n' agent environment experiment | xargs -P $(JOBS) -I ROLE \
		$(BIN)/reglue conformance ROLE --cmd build/sanitize-c/conformance_ROLE_c
	$(CLANG) -S agent_clients/cpp -B build/threads -DREGLUE_SANITIZE=thread -DREGLUE_EXAMPLES=OFF
	$(BUILD) build/threads --target reglue_tests
	build/threads/tests/reglue_tests --gtest_brief

onnxruntime: .venv/dev-is-installed ## see to ONNX Runtime for C++, which an example plays networks by
	.ci/onnxruntime $(BIN)/python build/onnxruntime

tidy: ## check the C and C++ clients with clang-tidy
	.ci/cpp
	.ci/clang
	CC=clang CXX=clang++ cmake -S agent_clients/c -B build/tidy -G Ninja -DREGLUE_STRICT=ON -DCMAKE_BUILD_TYPE=Debug \
		-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_UNITY_BUILD=OFF # each file alone
	$(BUILD) build/tidy --target reglue_proto_code
	nice run-clang-tidy -quiet -j $(JOBS) -p build/tidy 'agent_clients/c/(src|examples)/' agent_clients/cpp/src/

c: cpp ## build the C library and its programs
	$(CMAKE) -S agent_clients/c -B build/c -Dreglue_DIR=$(CURDIR)/build/cpp
	$(BUILD) build/c

julia: c ## install Julia, whose client uses the C library
	.ci/julia build/julia

typescript: $(TYPESCRIPT)/node_modules/is-installed ## build the TypeScript client
	cd $(TYPESCRIPT) && npm run build -- --skipLibCheck false # what dependencies declare is checked here alone

conformance: .venv/dev-is-installed clients ## check that every client in the tree follows the protocol
	$(BIN)/reglue conformance agent --cmd "$(BIN)/reglue join reglue.conformance:ConformanceAgent"
	$(BIN)/reglue conformance environment \
		--cmd "$(BIN)/reglue join reglue.conformance:ConformanceEnvironment"
	$(BIN)/reglue conformance experiment --cmd "$(BIN)/python -m reglue.conformance.experiment_under_test"
	export REGLUE_LIBRARY=build/c/libreglue.so; for transport in grpc unix; do for role in agent environment experiment; do \
		for program in build/cpp/conformance/conformance_$$role build/c/conformance_$${role}_c \
				"julia --startup-file=no -O1 --project=agent_clients/julia agent_clients/julia/conformance/$$role.jl" \
				"node $(TYPESCRIPT)/dist/conformance/programs/$$role.js"; do \
			$(BIN)/reglue conformance $$role --transport $$transport --cmd "$$program" || exit 1; done; done; done

coverage: ## how often each interval of the reports holds the truth, by simulation
	$(BIN)/python -m interval_coverage $(FLAGS)

chaos: .venv/dev-is-installed ## disturb runs for MINUTES (5): kills, hangs, cuts, floods, flips, servers; FLAGS="--only kills --seed 7"
	$(BIN)/python -m tests.chaos $(addprefix --minutes ,$(MINUTES)) $(FLAGS)

simulate: .venv/dev-is-installed ## play SEEDS (1000) runs with simulated threads, time, processes and network; FROM=0 FLAGS="--world hub"
	$(BIN)/python -m tests.simulator $(addprefix --seeds ,$(SEEDS)) $(addprefix --from ,$(FROM)) $(FLAGS)

signals: .venv/dev-is-installed clients ## interrupt programs in every language, TRIES (50) times each; FLAGS="--only python/agent"
	$(BIN)/python -m tests.signals $(addprefix --tries ,$(TRIES)) $(FLAGS)

crowd: .venv/dev-is-installed ## a competition with 200 teams whose server is killed; FLAGS="--teams 20"
	$(BIN)/python -m tests.crowd $(FLAGS)

cheats: .venv/dev-is-installed ## pairs of runs with a cheat and without; FLAGS="--pairs 20 --kinds crashes,hangs"
	$(BIN)/python -m tests.cheats $(FLAGS)

mutants: .venv/dev-is-installed ## put faults into copies of the code, and see which ones tests find; FLAGS="--faults 50 --package reglue"
	.ci/sandbox
	nice $(BIN)/python -m tests.mutants $(FLAGS)

speed: .venv-speed/is-installed ## measure Reglue beside its peers; ONLY=turns: one section
	.venv-speed/bin/python -m speed $(addprefix --only ,$(ONLY)) $(FLAGS)

scaling: .venv-speed/is-installed ## measure a run's coordinator, and 1 to 8 Ray nodes on this machine
	.venv-speed/bin/python -m speed.scaling $(FLAGS)

check: ## what CI runs; ANEW=1: also what passed on this machine with the same files
	$(MAKE) -j 3 check-style check-layers check-proto check-stubs tools
	$(MAKE) -j 6 check-containers check-tests check-types

# What packages bring, one after another and before the tests: two that install would get in each other's way.
tools: .venv/pyvenv.cfg proto/node_modules/is-installed $(TYPESCRIPT)/node_modules/is-installed $(OFFLINE) docker
	.ci/gl
	.ci/sandbox
	.ci/postgres
	.ci/chromium
	.ci/cpp
	.ci/clang
	.ci/doxygen
	.ci/julia build/julia
	.ci/go
	.ci/java

# One run of tests after the other: two at once starve each other.
check-tests: ready-clients
	$(MAKE) pages every-test
	+$(TESTED_CLIENTS)

every-test: .venv/dev-is-installed
	$(PYTEST) $(ELSEWHERE) -n $(TESTS)

# A third of all work is for files that most changes leave as they are: what passed with the same files is not checked again.
ALL_READ := .ci Makefile constraints.txt pyproject.toml agent_clients benchmarks env_adapters glue_server proto
CLIENTS_READ := $(ALL_READ) docs/api docs/reference docs/how-to/minimal-client.md docs/how-to/go.md docs/how-to/java.md tests \
	:!tests/docker :!tests/docs :!tests/reglue_competition :!tests/repository
CONTAINERS_READ := $(filter-out Makefile,$(ALL_READ)) .dockerignore bakeoff.toml competition docker-compose.yml docs/how-to/go-live.md \
	tests/*.py tests/agent_clients tests/docker

TESTED_CLIENTS = .ci/unless-passed clients '$(CLIENTS_READ)' $(MAKE) tested-clients
check-clients: ready-clients
	+$(TESTED_CLIENTS)

# Beside the others, as it waits mostly for disk and network: its output comes at its end.
CONTAINERS_LOG := build/containers.log
check-containers:
	@mkdir -p $(dir $(CONTAINERS_LOG)); .ci/unless-passed containers '$(CONTAINERS_READ)' \
		$(MAKE) test-containers REGLUE_NO_DOCKER=$(REGLUE_NO_DOCKER) >$(CONTAINERS_LOG) 2>&1; code=$$?; \
		cat $(CONTAINERS_LOG); exit $$code

check-style: .venv/dev-is-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(C_FILES) | xargs $(BIN)/clang-format --dry-run --Werror

check-types: .venv/dev-is-installed
	$(BIN)/mypy

check-layers: .venv/dev-is-installed
	$(BIN)/lint-imports

check-proto: proto/node_modules/is-installed
	$(BUF) format --diff --exit-code
	$(BUF) lint
	$(BUF) breaking --against image.binpb

check-stubs: .venv-proto/is-installed
	.ci/stubs check $(STUBS)

format: .venv/dev-is-installed ## rewrite Python, C, C++ and proto files in the house's style
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	$(C_FILES) | xargs $(BIN)/clang-format -i
	[ ! -x proto/node_modules/.bin/buf ] || { $(BUF) format --write; }

proto: .venv-proto/is-installed ## generate the Python stubs from proto/
	.ci/stubs write $(STUBS)

proto-image: proto/node_modules/is-installed ## accept proto/ as it is: later changes must not break it
	$(BUF) build --exclude-source-info --output image.binpb

constraints: .venv-uv/is-installed ## take up the newest versions that pyproject.toml allows
	.venv-uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--all-extras --no-annotate --no-emit-index-url \
		--custom-compile-command "make constraints" --output-file constraints.txt pyproject.toml

clean: ## remove all that the other targets made, except runs/
	rm -rf .venv .venv-proto .venv-speed .venv-uv proto/node_modules docs/_hooks/node_modules build dist site .*_cache .hypothesis \
		$(addprefix $(TYPESCRIPT)/,node_modules dist src/gen)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each of these files is the date of an installation; a newer prerequisite renews it.

.venv/pyvenv.cfg:
	.ci/venv $(PYTHON) .venv

.venv/is-installed: pyproject.toml constraints.txt | .venv/pyvenv.cfg
	$(BIN)/python -m pip install -c constraints.txt -e '.[server,metaworld]'
	touch $@

# Python compiles a module when it is first imported: a fifth of these 20,000 are.
.venv/dev-is-installed: .venv/is-installed benchmarks/speed/old_codec.py tests/openenv-requirements.txt
	$(BIN)/python -m pip install --no-compile -c constraints.txt \
		-e '.[server,metaworld,gymnasium,robotics,atari,dm-control,jax,video,pandas,parquet,tensorboard,wandb,mlflow,datasets,ray,competition,dm-env-rpc,openenv,reflection,docs,dev]'
	$(BIN)/python -m pip install --no-compile --no-deps -r tests/openenv-requirements.txt
	$(BIN)/python benchmarks/speed/old_codec.py
	touch $@

.venv-proto/is-installed: .ci/stubs-requirements.txt
	.ci/venv $(PYTHON) .venv-proto
	.venv-proto/bin/python -m pip install -r .ci/stubs-requirements.txt
	touch $@

.venv-speed/is-installed: pyproject.toml constraints.txt benchmarks/speed/requirements.txt \
		benchmarks/speed/old_codec.py tests/openenv-requirements.txt
	.ci/venv $(PYTHON) .venv-speed
	.venv-speed/bin/python -m pip install -c constraints.txt \
		-e '.[server,metaworld,gymnasium,jax,atari,ray,competition,dm-env-rpc,openenv]' -r benchmarks/speed/requirements.txt
	.venv-speed/bin/python -m pip install --no-deps -r tests/openenv-requirements.txt
	.venv-speed/bin/python benchmarks/speed/old_codec.py
	touch $@

.venv-uv/is-installed:
	.ci/venv $(PYTHON) .venv-uv
	.venv-uv/bin/python -m pip install uv
	touch $@

%/node_modules/is-installed: %/package.json %/package-lock.json
	.ci/node
	cd $* && npm ci --no-audit --no-fund
	touch $@
