# SPDX-License-Identifier: BSD-3-Clause
# Builds iobm in this folder, be it the source tree or another one:
#     make                            (bootstraps: autoconf, ./configure)
#     mkdir b && cd b && ../configure && make
# What configure found is in config.mk; "make help" lists the targets.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# Where this file really is; config.mk says it again, as configure was called.
srcdir := $(patsubst %/,%,$(dir $(realpath $(lastword $(MAKEFILE_LIST)))))
no_config := help clean distclean format format-check
ifneq ($(filter-out $(no_config),$(or $(MAKECMDGOALS),all)),)
include config.mk
endif
S := $(srcdir)
top := $(abspath $S)
build := $(CURDIR)

$S/configure: $S/configure.ac
	cd $S && autoconf
config.mk: $S/configure $S/config.mk.in
	if test -x config.status; then ./config.status --recheck && \
	./config.status; else $S/configure $(CONFIGURE_FLAGS); fi

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
       -Wwrite-strings -Wvla -Wformat=2 $(WERROR)
ALL_CPPFLAGS = -D_GNU_SOURCE -I. -I$S/include -I$S/src $(CPPFLAGS) \
               $(MPI_CFLAGS) $(HDF5_CFLAGS)
ALL_CFLAGS = -std=c11 -pthread $(WARN) $(CFLAGS)
ALL_LIBS = $(HDF5_LIBS) $(MPI_LIBS) $(ZLIB_LIBS) $(LIBS) -ldl -lm
# Short lines; V=1 shows the commands.
say = $(if $V,,@printf '  %-5s %s\n' $1 $2)
Q = $(if $V,,@)
COMPILE = $Q$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP
LINK = $Q$(CC) $(ALL_CFLAGS) $(LDFLAGS)

# In src/backend a file is either a back end, compiled when configure lists
# it, or has a header of its own (or is the registry) and is always compiled.
src = $(patsubst $S/%,%,$(wildcard $S/$1))
backend_base := src/backend/registry.c $(patsubst %.h,%.c,\
                $(call src,src/backend/*.h))
SRC := $(filter-out src/backend/%,$(call src,src/*/*.c)) \
       $(filter $(backend_base) $(BACKEND_SRC),$(call src,src/backend/*.c))
OBJ := $(SRC:src/%.c=obj/%.o)
LIB_OBJ := $(filter-out obj/cli/main.o,$(OBJ))

.PHONY: all
all: iobm

iobm: $(OBJ)
	$(call say,LINK,$@)
	$(LINK) -o $@ $^ $(ALL_LIBS)

# For tests: each takes what it uses.
obj/libiobm.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$Qrm -f $@ && $(AR) rcs $@ $^

obj/%.o: $S/src/%.c config.mk
	@mkdir -p $(@D)
	$(call say,CC,$(<:$S/%=%))
	$(COMPILE) -c -o $@ $<

# Build facts for --version; rewritten only when one has changed.
quote = "$(subst ",\",$(subst \,\\,$(strip $1)))"
define CONFIG_H
/* Made by the Makefile: how this iobm was built. */
#define IOBM_VERSION $(call quote,$(VERSION))
#define IOBM_BUILD_CC $(call quote,$(shell $(CC) --version | head -n 1))
#define IOBM_BUILD_CFLAGS $(call quote,$(CFLAGS))
#define IOBM_BUILD_MPI $(call quote,$(MPI_VERSION))
#define IOBM_BUILD_HDF5 $(call quote,$(HDF5_VERSION))
#define IOBM_BUILD_BACKENDS $(call quote,$(BACKENDS))
/* From SOURCE_DATE_EPOCH; empty when it is not set. */
#define IOBM_BUILD_DATE $(call quote,$(if $(SOURCE_DATE_EPOCH),$(shell \
    date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ)))
endef
iobm-config.h: config.mk FORCE
	@: $(file >$@.new,$(CONFIG_H))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(filter obj/cli/%,$(OBJ)): | iobm-config.h

# ---- tests: programs at their source's place, in the build tree
tests = $(patsubst $S/%.c,%,$(wildcard $S/tests/$1.c))
UNIT := $(call tests,unit/test_*) $(call tests,contract/test_*)
DRIVERS := $(call tests,ranks/*_driver) $(call tests,bin/*)
TRUTHFS := $(if $(filter yes,$(HAVE_FUSE)),tests/truthfs/truthfs)
TRUTHFS_OBJ := $(patsubst %,obj/%.o,$(call tests,truthfs/*))
FAKE_CLOCK := tests/ranks/par_driver tests/ranks/measure_driver \
              tests/ranks/verify_driver
INJECT := $(patsubst %,%.so,$(call tests,inject/*))
TEST_OBJ := $(patsubst %,obj/%.o,$(UNIT) $(DRIVERS) $(INJECT:.so=) \
            $(call tests,fake/*) $(call tests,fault/*))
.SECONDARY: $(TEST_OBJ)

obj/tests/%.o: $S/tests/%.c config.mk
	@mkdir -p $(@D)
	$(call say,CC,$(<:$S/%=%))
	$(COMPILE) -I$S/tests $(TEST_CFLAGS) -c -o $@ $<
obj/tests/unit/%.o obj/tests/contract/%.o: TEST_CFLAGS = $(CMOCKA_CFLAGS)
obj/tests/inject/%.o: TEST_CFLAGS = -fPIC
obj/tests/truthfs/%.o: TEST_CFLAGS = $(FUSE_CFLAGS)

$(UNIT): TEST_LIBS = $(CMOCKA_LIBS)
$(UNIT) $(filter-out $(FAKE_CLOCK),$(DRIVERS)): %: obj/%.o obj/libiobm.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(LINK) -o $@ $^ $(TEST_LIBS) $(ALL_LIBS)
$(FAKE_CLOCK): %: obj/%.o obj/libiobm-test.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(LINK) -o $@ $^ $(ALL_LIBS)
$(TRUTHFS): $(TRUTHFS_OBJ)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(LINK) -o $@ $^ $(FUSE_LIBS)
$(INJECT): %.so: obj/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(LINK) -shared -o $@ $^ -ldl

# The whole program with a clock that tests set and a back end that fails.
TEST_LIB_OBJ := $(filter-out obj/base/clock.o obj/backend/registry.o,\
                $(LIB_OBJ)) obj/test/registry.o \
                $(patsubst %,obj/%.o,$(call tests,fake/*) \
                $(call tests,fault/backend_*))
ifneq ($(call tests,fake/clock_fake),)
ifneq ($(call tests,fault/backend_fault),)
IOBM_TEST := iobm-test
endif
endif
iobm-test: obj/cli/main.o $(TEST_LIB_OBJ)
	$(call say,LINK,$@)
	$(LINK) -o $@ $^ $(ALL_LIBS)
obj/libiobm-test.a: $(TEST_LIB_OBJ)
	$(call say,AR,$@)
	$Qrm -f $@ && $(AR) rcs $@ $^
obj/test/backend-list.inc: config.mk
	@mkdir -p $(@D)
	@printf 'BACKEND(%s)\n' $(sort $(BACKENDS) fault) >$@
obj/test/registry.o: $S/src/backend/registry.c obj/test/backend-list.inc
	$(call say,CC,$@)
	$Q$(CC) -Iobj/test $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# T=name runs only the tests whose file name contains it.
pick = $(strip $(if $(T),$(foreach t,$1,$(if \
       $(findstring $(T),$(notdir $t)),$t)),$1))
RANKS_T := $(wildcard $S/tests/ranks/*.t)
SHELL_T := $(wildcard $S/tests/shell/*.t)
PROVE ?= prove
TEST_ENV = IOBM=$(build)/iobm IOBM_TEST=$(build)/iobm-test \
           IOBM_BUILD=$(build) IOBM_SRC=$(top) \
           IOBM_INJECT=$(build)/tests/inject
run = @$(if $(call pick,$2),$(TEST_ENV) $(PROVE) --exec $S/tests/run $1 \
      $(PROVE_FLAGS) $(call pick,$2),echo "no $3 tests match '$(T)'")

.PHONY: check unit ranks shell testprogs cmocka
testprogs: iobm $(IOBM_TEST) $(DRIVERS) $(INJECT) $(TRUTHFS)
cmocka:
	@test "$(HAVE_CMOCKA)" = yes || { echo "the unit tests need cmocka:" \
	"install libcmocka-dev or libcmocka-devel, then run configure" \
	"again" >&2; exit 1; }
check: cmocka $(call pick,$(UNIT)) testprogs
	$(call run,--timer,$(UNIT) $(RANKS_T) $(SHELL_T),)
unit: cmocka $(call pick,$(UNIT))
	$(call run,-j2,$(UNIT),unit)
ranks: testprogs
	$(call run,--timer,$(RANKS_T),rank)
shell: testprogs
	$(call run,--timer,$(SHELL_T),shell)

# ---- other builds and tools
.PHONY: asan valgrind lint format format-check soak truth
ASAN = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
       -fno-omit-frame-pointer
asan:
	mkdir -p asan && cd asan && eval "$(top)/configure \
	$$($(build)/config.status --config) 'CFLAGS=$(ASAN)'" >configure.out
	$(MAKE) -C asan unit T=$(T)
valgrind: cmocka $(call pick,$(UNIT))
	$(call run,-j2,$(UNIT),unit)
valgrind: export IOBM_TIMEOUT = 900
valgrind: export IOBM_WRAP = valgrind -q --error-exitcode=99 \
          --leak-check=full --errors-for-leak-kinds=definite \
          --suppressions=$(top)/tests/lib/valgrind.supp
soak: testprogs
	for i in $$(seq $(or $(ROUNDS),20)); do echo "round $$i"; \
	$(MAKE) -s ranks shell T=$(T) || exit 1; done

# iobm and others against a device whose speed is known.
truth: testprogs
	@$(TEST_ENV) $S/bench/truth.sh

# One process per file: version 14 mixes files up otherwise.
TIDY := -*,bugprone-*,clang-analyzer-*,misc-redundant-*$(shell printf ',-%s' \
    bugprone-easily-swappable-parameters bugprone-narrowing-conversions \
    bugprone-reserved-identifier bugprone-macro-parentheses \
    bugprone-sizeof-expression clang-analyzer-optin.mpi.MPI-Checker \
    clang-analyzer-optin.portability.UnixAPI \
    clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling)
LINT_CPPFLAGS = -std=c11 -D_GNU_SOURCE -I$(build) -Iinclude -Isrc \
                $(MPI_CFLAGS) $(HDF5_CFLAGS)
lint: iobm-config.h
	@cd $S && printf '%s\n' $(SRC) | xargs -P 2 -I FILE clang-tidy --quiet \
	--warnings-as-errors='*' --checks='$(TIDY)' FILE -- $(LINT_CPPFLAGS) \
	2>&1 | { ! grep -vE '^[0-9]+ warnings? generated|^Suppressed|^Use -head'; }
	@cd $S && cppcheck --quiet -j 2 --error-exitcode=1 --std=c11 \
	--enable=warning,performance,portability --inline-suppr \
	--suppress=missingIncludeSystem -D__linux__ $(LINT_CPPFLAGS:-std%=) $(SRC)

C_FILES = $(foreach d,include/iobm src/* tests/*,$(wildcard \
          $S/$d/*.c $S/$d/*.h))
format:
	clang-format -i $(C_FILES)
format-check:
	clang-format --dry-run --Werror $(C_FILES)

# ---- install and release
.PHONY: install uninstall dist clean distclean help
share = $(datarootdir)/iobm
D = $(DESTDIR)
install: iobm
	install -d $D$(bindir) $D$(mandir)/man1 $D$(mandir)/man5 \
	$D$(share)/examples $D$(share)/jobscripts
	install iobm $D$(bindir)
	install -m 644 $S/docs/iobm.1 $D$(mandir)/man1
	install -m 644 $S/docs/iobm-results.5 $D$(mandir)/man5
	install $(wildcard $S/examples/*) $D$(share)/examples
	install -m 644 $(wildcard $S/jobscripts/*) $D$(share)/jobscripts
uninstall:
	rm -f $D$(bindir)/iobm $D$(mandir)/man1/iobm.1 \
	$D$(mandir)/man5/iobm-results.5 $(foreach f,$(wildcard \
	$S/examples/* $S/jobscripts/*),$D$(share)$(f:$S%=%))
	-rmdir $D$(share)/examples $D$(share)/jobscripts $D$(share)

dist_name = iobm-$(VERSION)
dist: $S/configure
	@mkdir -p obj
	cd $S && { if test -e .git; then git ls-files -c; else \
	export GIT_DIR=$(build)/obj/dist.git; git init -q; \
	git ls-files -o --exclude-standard; fi; echo configure; } | \
	while read -r f; do test ! -e "$$f" || echo "$$f"; done | \
	LC_ALL=C sort -u | tar --create --files-from=- --owner=0 --group=0 --numeric-owner \
	--mtime=@$(or $(SOURCE_DATE_EPOCH),$(shell date +%s)) \
	--transform='s,^,$(dist_name)/,' | gzip -9n >$(build)/$(dist_name).tar.gz

made = $(patsubst $S/%.c,%,$(wildcard $S/tests/unit/test_*.c \
       $S/tests/contract/test_*.c $S/tests/ranks/*_driver.c $S/tests/bin/*.c))
clean:
	rm -rf obj asan iobm iobm-test iobm-config.h $(made) \
	tests/inject/*.so tests/truthfs/truthfs
distclean: clean
	rm -rf config.mk config.status config.log backend-list.inc \
	autom4te.cache configure~ iobm-*.tar.gz
	if test -L Makefile; then rm Makefile; \
	elif test -e .git; then rm -f configure; fi

define HELP
make              build ./iobm
make check        all tests: unit, contract, ranks, shell
make unit | ranks | shell
                  some of them; T=name: only files with that in their name
make asan         unit and contract tests under ASan and UBSan, in ./asan
make valgrind     unit and contract tests under valgrind
make truth        iobm, fio and IOR on a device of known speed
make soak         rank and shell tests again and again: ROUNDS=20
make lint         clang-tidy and cppcheck
make format       rewrite the C files with clang-format; format-check: ask
make install      into PREFIX (/usr/local), below DESTDIR; also uninstall
make dist         iobm-VERSION.tar.gz
make clean        remove what make built; distclean: and what configure wrote
CONFIGURE_FLAGS='--with-hdf5=DIR' goes to ./configure when make runs it.
endef
help:
	@: $(info $(HELP))

.PHONY: FORCE
FORCE:

-include $(wildcard obj/*/*.d obj/*/*/*.d)
