# sqlpack: builds, tests, lints, installs. `make help` lists the targets.
CC       ?= gcc
CFLAGS   ?= -O2 -g
PREFIX   ?= /usr/local
BUILD    := build$(if $(SAN),-san)$(if $(TSAN),-tsan)
PKGS     := sqlite3 libdeflate zlib libxxhash
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wformat=2 -Wvla -Wwrite-strings -Wno-pedantic
override CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc $(shell pkg-config --cflags $(PKGS))
override CFLAGS   += -std=c17 -fvisibility=hidden -fPIC -pthread $(WARN) \
                     $(if $(SAN),-fsanitize=address$(,)undefined -fno-omit-frame-pointer) \
                     $(if $(TSAN),-fsanitize=thread)
LDLIBS   += $(shell pkg-config --libs $(PKGS)) -pthread
, := ,

LIB_OBJ  := $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/lib/*.c src/util/*.c))
CMD_OBJ  := $(patsubst src/%.c,$(BUILD)/obj/%.o,src/main.c $(wildcard src/cmd/*.c src/cli/*.c))
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*_test.c))

## all: build sqlpack, libsqlpack.a and libsqlpack.so (the default)
all: $(BUILD)/sqlpack $(BUILD)/libsqlpack.a $(BUILD)/libsqlpack.so

$(BUILD)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libsqlpack.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/sqlpack: $(CMD_OBJ) $(BUILD)/libsqlpack.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libsqlpack.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(BUILD)/libsqlpack.a $(LDLIBS)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all
