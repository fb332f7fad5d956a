# sqlpack: builds, tests, lints, installs. `make help` lists the targets.
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BUILD   := build$(if $(SAN),-san)$(if $(TSAN),-tsan)
VERSION := $(shell sed -n 's/^\#define SQLPACK_VERSION "\(.*\)"/\1/p' src/sqlpack.h)
MAJOR   := $(firstword $(subst ., ,$(VERSION)))
PKGS    := sqlite3 libdeflate zlib libxxhash
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
           -Wformat=2 -Wvla -Wwrite-strings
, := ,
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# For bench, where it is there: one arm more.
URING_LIBS := $(shell pkg-config --libs liburing 2>/dev/null)
override CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc $(PKG_CFLAGS) \
                     $(if $(URING_LIBS),-DSQLPACK_URING)
override CFLAGS   += -std=c17 -fvisibility=hidden -fPIC -pthread $(WARN) \
                     $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined) \
                     $(if $(TSAN),-fsanitize=thread) $(if $(SAN)$(TSAN),-fno-omit-frame-pointer)
override LDLIBS   += $(PKG_LIBS) -pthread
LINK      = $(CC) $(CFLAGS) $(LDFLAGS)
# gcc optimizes the library as a whole, which makes packing a sixth faster. LTO= leaves that out.
ifeq ($(origin LTO),undefined)
LTO := $(if $(SAN)$(TSAN),,$(shell echo | $(CC) -flto=auto -flinker-output=nolto-rel -r -nostdlib \
         -o /dev/null -x c - 2>/dev/null && echo -flto=auto))
endif

# What a rule says instead of its command, unless V=1.
say       = $(if $(V),,@echo '  $(1)' &&)
objects   = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
UTIL_OBJ := $(call objects,src/util/*.c)
LIB_OBJ  := $(call objects,src/lib/*.c) $(UTIL_OBJ)
CLI_OBJ  := $(call objects,src/cli/*.c)
BENCH_OBJ := $(call objects,src/bench/*.c)
CMD_OBJ  := $(call objects,src/main.c src/cmd/*.c) $(CLI_OBJ) $(BENCH_OBJ)
TOOLS    := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/unit/*.c tests/perf/*.c))
UNITS    := $(filter %_test,$(TOOLS))
C_FILES   = $(wildcard src/*.c src/*/*.c tests/*/*.c)
SCRIPTS   = completions/sqlpack.bash tests/cli/helper.bash tests/setup \
            $(wildcard .ci/run tests/demo tests/perf/bench tests/perf/helper tests/perf/run tests/torture/*) \
            $(wildcard tests/cli/*.bats)

## all: build sqlpack, libsqlpack.a and libsqlpack.so (the default)
all: $(BUILD)/sqlpack $(BUILD)/libsqlpack.a $(BUILD)/libsqlpack.so

# Tests take these objects as they are: -ffat-lto-objects has both forms in them.
$(LIB_OBJ): override CFLAGS += $(if $(LTO),$(LTO) -ffat-lto-objects)
$(BUILD)/obj/%.o: src/%.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

packages:
	@pkg-config --exists --print-errors $(PKGS) || { echo "'make setup' installs them" >&2; exit 1; }

# One object whose inner names are hidden: an archive shows nothing but sqlpack_*.
$(BUILD)/libsqlpack.a: $(LIB_OBJ)
	$(call say,ld $@) $(if $(LTO),$(LINK) $(LTO) -flinker-output=nolto-rel -r -nostdlib,$(LD) -r) \
	    -o $(BUILD)/libsqlpack.o $^
	@objcopy --localize-hidden $(BUILD)/libsqlpack.o
	@rm -f $@ && $(AR) rcsD $@ $(BUILD)/libsqlpack.o

$(BUILD)/libsqlpack.so: $(BUILD)/libsqlpack.a
	$(call say,ld $@) $(LINK) -shared -Wl,-soname,$(@F).$(MAJOR) -o $@ $(BUILD)/libsqlpack.o $(LDLIBS)

$(BUILD)/sqlpack: $(CMD_OBJ) $(UTIL_OBJ) $(BUILD)/libsqlpack.a
	$(call say,ld $@) $(LINK) -o $@ $^ $(LDLIBS) $(URING_LIBS) -lm

# Tests and tools of tests may use what is inside: they get the plain objects.
$(BUILD)/inner.a: $(LIB_OBJ) $(CLI_OBJ) $(BENCH_OBJ)
	@rm -f $@ && $(AR) rcsD $@ $^

$(TOOLS): $(BUILD)/%: tests/%.c $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(call say,cc $<) $(LINK) $(if $(LTO),-fno-lto) $(CPPFLAGS) -Itests/unit -MMD -MP -o $@ $< $(BUILD)/inner.a $(LDLIBS) $(URING_LIBS) -lm

## setup: install the packages that building and testing need
setup:
	tests/setup check

## check: run all tests; SAN=1: under the address and undefined sanitizers; TSAN=1: for threads
check: setup
	$(MAKE) run-tests

run-tests: all $(TOOLS)
	BUILD=$(abspath $(BUILD)) prove --exec '' $(UNITS) tests/cli/*.bats

## torture: the same with every point of the kill matrix, every bit, 10,000 trees: hours
torture: setup
	TORTURE=1 $(MAKE) run-tests

## lint: check the layout of the code and search it for faults
lint:
	tests/setup lint
	clang-format --dry-run -Werror $(wildcard src/*.[ch] src/*/*.[ch] tests/*/*.[ch])
	printf '%s\n' $(C_FILES) | xargs -P 2 -n 1 sh -c \
	    'clang-tidy --quiet "$$1" -- $(CPPFLAGS) -Itests/unit -std=c17 2>/dev/null' tidy
	cppcheck --quiet --enable=warning,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem -D_GNU_SOURCE -Isrc src
	shellcheck -x -e SC1091$(,)SC2154 $(SCRIPTS)
	mandoc -Tlint -W warning $(wildcard man/*)
	$(MAKE) BUILD=build-gcc CC=gcc CFLAGS='-O2 -g -Werror' all
	$(MAKE) BUILD=build-clang CC=clang CFLAGS='-O2 -g -Werror' all

## demo: audit and pack a real tree (DIR=/usr/share), verify, unpack, compare and time it
demo:
	tests/setup build
	$(MAKE) all
	BUILD=$(abspath $(BUILD)) tests/demo

## perf: measure against tar, zip, sqlite3 and others; takes 40 minutes
perf:
	tests/setup perf
	$(MAKE) all $(TOOLS)
	BUILD=$(abspath $(BUILD)) tests/perf/run
	BUILD=$(abspath $(BUILD)) tests/perf/bench

PLACE := $(DESTDIR)$(PREFIX)
INSTALLED := bin/sqlpack include/sqlpack.h lib/libsqlpack.a lib/libsqlpack.so \
             lib/libsqlpack.so.$(MAJOR) lib/libsqlpack.so.$(VERSION) lib/pkgconfig/sqlpack.pc \
             share/man/man1/sqlpack.1 share/man/man3/sqlpack.3 share/man/man5/sqlpack.5 \
             share/bash-completion/completions/sqlpack share/zsh/site-functions/_sqlpack \
             share/fish/vendor_completions.d/sqlpack.fish

define PC
prefix=$(PREFIX)
Name: sqlpack
Description: packs directory trees into SQLite archives
Version: $(VERSION)
Requires.private: $(PKGS)
Cflags: -I$${prefix}/include
Libs: -L$${prefix}/lib -lsqlpack
Libs.private: -pthread
endef
export PC

## install: install to PREFIX (/usr/local), below DESTDIR where that is set
install: all
	install -d $(sort $(dir $(addprefix $(PLACE)/,$(INSTALLED))))
	install $(BUILD)/sqlpack $(PLACE)/bin/
	install -m 644 src/sqlpack.h $(PLACE)/include/
	install -m 644 $(BUILD)/libsqlpack.a $(PLACE)/lib/
	install -m 755 $(BUILD)/libsqlpack.so $(PLACE)/lib/libsqlpack.so.$(VERSION)
	ln -sf libsqlpack.so.$(VERSION) $(PLACE)/lib/libsqlpack.so.$(MAJOR)
	ln -sf libsqlpack.so.$(MAJOR) $(PLACE)/lib/libsqlpack.so
	printf '%s\n' "$$PC" >$(PLACE)/lib/pkgconfig/sqlpack.pc
	for n in 1 3 5; do install -m 644 man/sqlpack.$$n $(PLACE)/share/man/man$$n/ || exit; done
	install -m 644 completions/sqlpack.bash $(PLACE)/share/bash-completion/completions/sqlpack
	install -m 644 completions/_sqlpack $(PLACE)/share/zsh/site-functions/
	install -m 644 completions/sqlpack.fish $(PLACE)/share/fish/vendor_completions.d/

## uninstall: remove what install put there
uninstall:
	rm -f $(addprefix $(PLACE)/,$(INSTALLED))

## clean: remove what was built
clean:
	rm -rf build build-san build-tsan build-gcc build-clang

## help: list these targets
help:
	@sed -n 's/^## //p' Makefile

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
.PHONY: all packages setup check run-tests torture lint demo perf install uninstall clean help
