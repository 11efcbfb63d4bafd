# loom-operator. `make help` lists the targets; a target that is not there is a bug.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= dev
CLUSTER ?= local
IMAGE ?= ghcr.io/beyond10x/loom-operator:$(VERSION)
AGENT_IMAGE ?= ghcr.io/beyond10x/loom-agent:$(VERSION)
KUBECTL ?= kubectl
BUNDLE_VERSION ?= 0.1.0
PLATFORMS ?= linux/amd64,linux/arm64

# Tools, pinned by version. Go builds them once and keeps them.
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# The modules of this repository.
MODULES := . tests tests/cluster

# given is not empty when the caller chose a variable, and not this file.
given = $(filter command environment,$(firstword $(origin $(1))))

##@ General
.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Bring up a real cluster, run four agents and show their status (CLUSTER=existing uses KUBECONFIG, IMAGE and AGENT_IMAGE)
	cd tests && go run ./demo up --cluster $(CLUSTER) $(if $(call given,IMAGE),--image $(IMAGE)) $(if $(call given,AGENT_IMAGE),--agent-image $(AGENT_IMAGE))

.PHONY: demo-down
demo-down: ## Stop the demo and its cluster
	cd tests && go run ./demo down --cluster $(CLUSTER)

##@ Development
.PHONY: build
build: ## Build the operator into .cache/bin
	go build -ldflags "-X main.version=$(VERSION)" -o .cache/bin/loom-operator .

.PHONY: generate
generate: manifests ## Generate code, manifests and documents
	$(CONTROLLER_GEN) object paths=./apis/...
	go generate ./internal/lifecycle
	go run ./docs/gen .
	go run ./internal/bundle/gen .
	cd tests && go run ./cases ..

.PHONY: manifests
manifests: ## Generate the CRD and the operator's role
	$(CONTROLLER_GEN) crd paths=./apis/... output:crd:dir=config/crd
	$(CONTROLLER_GEN) rbac:roleName=loom-operator paths=./controllers/... output:rbac:dir=config/rbac

.PHONY: fmt
fmt: ## Format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## Vet and lint every module
	for module in $(MODULES); do (cd $$module && go vet ./... && $(GOLANGCI_LINT) run --timeout 20m --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: test
test: ## Run every test: units, the real API server and the real node
	tests/run

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster
	go test ./...
	cd tests && go test ./agent ./cases ./catalog ./demo ./deploy ./images/... ./mutation/... ./release ./upgrade
	cd tests/cluster && go test $$(go list ./... | grep -v /e2e)

.PHONY: fuzz
fuzz: ## Fuzz the pure packages, FUZZTIME each (default 30s)
	for package in internal/check internal/lifecycle internal/observe internal/workload; do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9]+' $$package | cut -c6-); do \
			go test ./$$package -run '^$$' -fuzz "^$$target$$" -fuzztime $(or $(FUZZTIME),30s); done; done

.PHONY: campaign
campaign: ## Change live agents property by property and compare each with a fresh one
	cd tests && go run ./campaign -write

.PHONY: troubleshooting
troubleshooting: ## Write docs/troubleshooting.md anew from what a real node shows
	cd tests && go test -count=1 ./e2e -run Faults -update

.PHONY: bench
bench: ## Measure what the operator costs beside a bare client, REPEAT times (default 3); needs a quiet machine for an hour
	cd tests && go run ./bench -repeat $(or $(REPEAT),3) -o ../.cache/bench.json -write

.PHONY: bench-compare
bench-compare: ## Show what changed between two reports of bench: OLD=... NEW=...
	cd tests && go run ./bench compare $(abspath $(OLD)) $(abspath $(NEW))

.PHONY: faults
faults: ## Meet every request of every life with every fault, then storms and mutants; writes docs/faults.md; about an hour (KEEP=file resumes)
	cd tests && go run ./faults all -write $(if $(KEEP),-keep $(KEEP))

.PHONY: mutants
mutants: ## Change the pure packages one place at a time and show that a test fails each time
	cd tests && go run ./mutation ../internal/lifecycle ../internal/check ../internal/guard

.PHONY: verify
verify: ## Fail when something generated, formatted or linted is not as committed
	@test -z "$$(git status --porcelain)" || { echo 'verify: commit or stash first, so that differences can be told apart'; git status --short; exit 1; }
	$(MAKE) generate
	for module in $(MODULES); do (cd $$module && go mod tidy); done
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'verify: not formatted; run make fmt'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@git diff --exit-code || { echo 'verify: generated files differ; run make generate and commit'; exit 1; }
	$(MAKE) lint

##@ Releasing
.PHONY: bundle
bundle: ## Build the images of BUNDLE_VERSION, and the bundle that names them by digest
	@test -z "$$(git status --porcelain)" || { echo 'bundle: commit first, so that the images can be built again from the commit'; exit 1; }
	@mkdir -p .cache
	cd tests && go run ./images --platform $(PLATFORMS) --version $(BUNDLE_VERSION) operator agent scorecard > ../.cache/images.tsv
	go run ./internal/bundle/gen -version $(BUNDLE_VERSION) -platforms $(PLATFORMS) -created $$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd) . < .cache/images.tsv

.PHONY: release
release: ## Write everything that a release consists of into dist; publishes nothing
	cd tests && go run ./release

##@ Installing
.PHONY: image
image: ## Build the images of operator, sample agent and scorecard as archives, without Docker
	cd tests && go run ./images --version $(VERSION) operator agent scorecard

.PHONY: install
install: ## Install the CRD into the cluster of KUBECONFIG
	$(KUBECTL) apply -f config/crd/loom.beyond10x.dev_loomagents.yaml

.PHONY: uninstall
uninstall: ## Remove the CRD, and with it every LoomAgent
	$(KUBECTL) delete --ignore-not-found -f config/crd/loom.beyond10x.dev_loomagents.yaml

.PHONY: deploy
deploy: ## Install CRD, RBAC and operator with IMAGE and AGENT_IMAGE
	go run . install --image $(IMAGE) --agent-image $(AGENT_IMAGE) | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: ## Remove the operator; agents and their CRD stay
	$(KUBECTL) delete --ignore-not-found -k config/rbac
	$(KUBECTL) delete --ignore-not-found -k config/manager
