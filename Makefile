# The two commands of a fresh machine are `make try` and `make test`.

AGENTS ?= .cache/agents

.PHONY: try test lint fuzz bench agents tools

# Builds pibox, fetches what it needs, asks it a prompt, and leaves it running.
try: agents
	scripts/try $(AGENTS)

# Fetches what the tests need and runs every one of them.
test: agents tools
	AICODEBOX_TEST_AGENTS=$(abspath $(AGENTS)) go test -race -timeout 20m ./...

agents:
	scripts/fetch-agents $(AGENTS) pi

# Clients, linters and emulators that the tests check the surfaces with.
tools:
	scripts/api-tools/install
	scripts/telegram-tools/install
	scripts/mcp-tools/install
	scripts/fetch-openai-sdk

lint:
	golangci-lint run ./...

fuzz:
	scripts/fuzz 20s

bench:
	go test -run '^$$' -bench . -benchmem ./...
