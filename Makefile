# The front door. Each target sets up what it needs; the build itself is meson's.
BUILD = build
PREFIX = /usr/local

all: ready
	ninja -C $(BUILD) installed

ready: ; @tools/setup build && tools/configure $(BUILD) --prefix $(PREFIX)

demo: ready
	ninja -C $(BUILD) rationale
	@$(BUILD)/rationale demo
demo-replicas: ready
	@tools/setup replicas
	ninja -C $(BUILD) rationale
	@tools/postgres-run tools/demo-replicas $(BUILD)/rationale
demo-split: all ; @tools/demo-split $(BUILD)/rationale
test: ; @tools/setup build test && tools/test
quick: ; @tools/setup build test && tools/quick
check: ; @tools/setup build test check && tools/check
tsan: ; @tools/setup build test check && tools/check tsan
fuzz: ; @tools/setup build check && tools/check fuzz
bench: ; @tools/setup build bench && tools/bench
conformance: all ; @tools/conformance $(BUILD)/rationale
install: all ; meson install -C $(BUILD) --no-rebuild
clean: ; rm -rf build build-*

.PHONY: all ready demo demo-replicas demo-split test quick check tsan fuzz bench conformance install clean
