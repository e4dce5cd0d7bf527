#!/bin/sh
# The library and the command as they are installed: into a folder of their own, then the example
# is built against what is there, in every way the pkg-config file promises.
#
#     test/e2e/install_test.sh BUILD SOURCE_ROOT
# SPDX-License-Identifier: Apache-2.0
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
CC=${CC:-cc}
strict="-std=c17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror"

fail() {
    echo "FAIL: $*" >&2
    echo "[  FAILED  ] 1 test(s)."
    exit 1
}
pass() {
    passed=$((passed + 1))
    echo "ok: $*"
}
same() { # same WHAT GOT WANTED
    [ "$2" = "$3" ] || fail "$1 is
$2
and not
$3"
}

meson install -C "$build" --no-rebuild --quiet --destdir "$work/root" >"$work/log" 2>&1 ||
    fail "meson install: $(cat "$work/log")"
pc=$(find "$work/root" -name rationale.pc)
[ -f "$pc" ] || fail "no rationale.pc"
prefix=$work/root$(sed -n 's/^prefix=//p' "$pc")
libdir=$(dirname "$(dirname "$pc")")
pass "meson install --destdir"

# ---- where things are ----

for file in bin/rationale include/rationale.h share/man/man1/rationale.1 \
    lib/systemd/system/rationale.service lib/systemd/system/rationale.socket \
    share/zsh/site-functions/_rationale \
    share/fish/vendor_completions.d/rationale.fish \
    share/bash-completion/completions/rationale.bash; do
    [ -s "$prefix/$file" ] || fail "no $file in $prefix"
done
for file in librationale.a librationale.so librationale.so.0; do
    [ -s "$libdir/$file" ] || fail "no $file in $libdir"
done
same "the header" "$(cat "$prefix/include/rationale.h")" "$(cat "$source/include/rationale.h")"
pages=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$source/src/cli/commands.def")
for page in $pages; do
    same "the page of $page" "$(cat "$prefix/share/man/man1/rationale-$page.1")" \
        "$("$prefix/bin/rationale" manpage "$page")"
done
same "what the service starts" \
    "$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$prefix/lib/systemd/system/rationale.service")" \
    "$(sed -n 's/^prefix=//p' "$pc")/bin/rationale"
same "the command" "$(printf '<think>a</think>b' | "$prefix/bin/rationale" split)" b
pass "command, headers, libraries, pages and completions in place"

# ---- names ----

exported=$(nm -D --defined-only "$libdir/librationale.so" | awk '{print $3}' | sort -u)
[ -n "$exported" ] || fail "the shared library exports nothing"
foreign=$(echo "$exported" | grep -v '^rationale_' || true)
same "what the shared library exports besides rationale_*" "$foreign" ""
archived=$(nm -g --defined-only "$libdir/librationale.a" | awk 'NF == 3 {print $3}' | sort -u)
same "what the archive defines" "$archived" "$exported"
declared=$(grep -o '\brationale_[a-z_]*(' "$source/include/rationale.h" | tr -d '(' | sort -u)
for name in $exported; do
    echo "$declared" | grep -qx "$name" || fail "$name is exported and not in the header"
done
pass "only rationale_* leaves, the same from both libraries, all of it in the header"

# ---- pkg-config, where it was put and where it was meant to be ----

PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
command -v pkg-config >/dev/null || fail "no pkg-config"
pkg-config --validate rationale || fail "pkg-config --validate"
same "its version" "$(pkg-config --modversion rationale)" \
    "$("$prefix/bin/rationale" --version | sed 's/.* //')"
pass "pkg-config --validate"

at() { # at PKG_CONFIG_OPTION...: as if it had been installed for the folder it is in
    pkg-config --define-variable=prefix="$prefix" "$@" rationale
}
example=$source/example/split_stream.c
text='<think>2 and 2</think>4'
try() { # try WHAT PROGRAM
    same "the text of $1" "$(printf '%s' "$text" | "$2" 2>/dev/null)" "2 and 24"
    same "the count of $1" "$(printf '%s' "$text" | "$2" 2>&1 >/dev/null)" \
        "reasoning is complete; reasoning: 4 tokens, answer: 1 tokens"
    same "its format" "$(printf 'a</think>b' | "$2" qwen3 inside 2>/dev/null)" ab
    if printf '' | "$2" nope 2>/dev/null; then
        fail "$1 took an unknown format"
    fi
    pass "$1"
}

# shellcheck disable=SC2046,SC2086
$CC $strict -o "$work/shared" "$example" $(at --cflags --libs) || fail "shared"
readelf -d "$work/shared" | grep -q 'librationale.so.0' || fail "the shared library is not used"
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
try "the example with the shared library" "$work/shared"
unset LD_LIBRARY_PATH

# What the archive needs besides itself is what Libs.private says.
others=$(at --static --libs | tr ' ' '\n' | grep -v -e '^-L' -e '^-lrationale$' | tr '\n' ' ')
# shellcheck disable=SC2046,SC2086
$CC $strict -o "$work/archive" "$example" $(at --cflags) "$libdir/librationale.a" $others ||
    fail "archive"
if readelf -d "$work/archive" | grep -q librationale; then
    fail "the archive is not what was linked"
fi
try "the example with the archive" "$work/archive"

echo 'int main(void) { return 0; }' >"$work/probe.c"
if $CC -static -o "$work/probe" "$work/probe.c" 2>/dev/null; then
    # shellcheck disable=SC2046,SC2086
    $CC $strict -static -o "$work/static" "$example" $(at --static --cflags --libs) || fail "static"
    try "the example with nothing shared" "$work/static"
else
    echo "not tried: no static libc here"
fi

# As a package is built for another root.
# shellcheck disable=SC2046,SC2086
PKG_CONFIG_SYSROOT_DIR=$work/root $CC $strict -o "$work/sysroot" "$example" \
    $(PKG_CONFIG_SYSROOT_DIR=$work/root pkg-config --cflags --libs rationale) || fail "sysroot"
pass "the example in a sysroot"

# ---- the header by itself ----

echo '#include <rationale.h>' >"$work/header.c"
for standard in c99 c11 c17; do
    # shellcheck disable=SC2046
    $CC -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$work/header.c" \
        $(at --cflags) || fail "the header as $standard"
done
pass "the header in C99, C11 and C17"
if command -v "${CXX:-c++}" >/dev/null; then
    cat >"$work/use.cc" <<'CC'
#include <rationale.h>
static void on_run(void *, rationale_kind, const char *, size_t) {}
int main()
{
    rationale_split_options options = {};
    options.on_run = on_run;
    rationale_split *split = rationale_split_new(&options, nullptr);
    rationale_split_feed(split, "<think>a</think>b", 17);
    rationale_split_finish(split);
    bool good = rationale_split_state(split) == RATIONALE_COMPLETE;
    rationale_split_free(split);
    return good ? 0 : 1;
}
CC
    # shellcheck disable=SC2046,SC2086
    "${CXX:-c++}" -std=c++11 -Wall -Wextra -Wpedantic -Werror -o "$work/cxx" "$work/use.cc" \
        $(at --cflags) "$libdir/librationale.a" $others || fail "C++"
    "$work/cxx" || fail "the library from C++"
    pass "the library from C++"
else
    echo "not tried: no C++ compiler here"
fi

echo "[  PASSED  ] $passed test(s)."
