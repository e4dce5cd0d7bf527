#!/usr/bin/env python3
"""Tests the checkers of the house: each finds a planted fault, and passes correct files.

    test/house_test.py CC FLAG...
"""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER = sys.argv[1:] or ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEADER = "/* a.h - what it is for.\n *\n * SPDX-License-Identifier: Apache-2.0\n */\n#pragma once\n"
LAYERS = "base:\nchat: base\nnet: base\n"


def source(*lines):
    return SPDX + "".join(line + "\n" for line in lines)


def function(length):
    return source("void f(void)", "{", *["    f();"] * length, "}")


# A tree that passes all checkers; each case below changes or adds files.
CLEAN = {
    "src/LAYERS": LAYERS,
    "src/base/a.h": HEADER,
    "src/base/a.c": source('#include "base/a.h"'),
    "src/chat/b.c": source('#include "base/a.h"', '#include "chat/b.h"'),
    "src/chat/b.h": HEADER.replace("a.h", "b.h"),
    "src/net/n.h": HEADER.replace("a.h", "n.h"),
    "include/rationale.h": HEADER.replace("a.h", "rationale.h"),
    "tools/tidy.allow": "# FILE:LINE # why\n",
}

# claim, tool, files, expected output; "" for none.
CASES = [
    ("a clean tree passes", "layers", {}, ""),
    ("a back edge in the table", "layers",
     {"src/LAYERS": "base: chat\nchat: base\nnet: base\n"},
     "LAYERS: base names chat, which is not above it"),
    ("an include upwards", "layers",
     {"src/base/a.c": source('#include "chat/b.h"')}, "base may not include chat"),
    ("an include of a neighbour", "layers",
     {"src/chat/b.c": source('#include "net/n.h"')}, "chat may not include net"),
    ("an include with spaces", "layers",
     {"src/base/a.c": source('#  include  "chat/b.h"')}, "base may not include chat"),
    ("an include without the module", "layers",
     {"src/base/a.c": source('#include "a.h"')}, 'an include carries the module: "base/a.h"'),
    ("a module that is not in the table", "layers",
     {"src/odd/o.c": source('#include "base/a.h"')}, "odd may not include base"),
    ("a clean tree passes", "tidy", {}, ""),
    ("a function of 70 lines passes", "tidy", {"src/base/a.c": function(70)}, ""),
    ("a function of 71 lines", "tidy", {"src/base/a.c": function(71)},
     "src/base/a.c:f: 71 lines, the limit is 70"),
    ("a source of 600 lines passes", "tidy",
     {"src/base/a.c": source(*["int f(void);"] * 599)}, ""),
    ("a source of 601 lines", "tidy",
     {"src/base/a.c": source(*["int f(void);"] * 600)},
     "src/base/a.c: 601 lines, the limit is 600"),
    ("a header of 251 lines", "tidy",
     {"src/base/a.h": HEADER + "int f(void);\n" * 246},
     "src/base/a.h: 251 lines, the limit is 250"),
    ("a tab", "tidy", {"src/base/a.c": source("int\tf(void);")}, "src/base/a.c:2: a tab"),
    ("a line of 100 columns passes", "tidy",
     {"src/base/a.c": source("/* " + "x" * 94 + " */")}, ""),
    ("a line of 101 columns", "tidy",
     {"src/base/a.c": source("/* " + "x" * 95 + " */")},
     "src/base/a.c:2: 101 columns, the limit is 100"),
    ("columns are characters, not bytes", "tidy",
     {"src/base/a.c": source("/* " + "\u00e9" * 94 + " */")}, ""),
    ("white space at the end", "tidy",
     {"src/base/a.c": source("int f(void); ")}, "src/base/a.c:2: white space at the end"),
    ("a header without its page", "tidy",
     {"src/base/a.h": SPDX + "#pragma once\n"},
     'src/base/a.h:head: a header begins with "/* a.h - what it is for"'),
    ("a header with another's page", "tidy",
     {"src/base/a.h": HEADER.replace("a.h", "b.h")}, "src/base/a.h:head:"),
    ("a file without its licence", "tidy",
     {"src/base/a.c": "int f(void);\n"}, "src/base/a.c:spdx: no SPDX line"),
    ("a global that may change", "tidy",
     {"src/base/a.c": source("int counter;")},
     "src/base/a.c:2: a global that is neither const nor static"),
    ("a global array that may change", "tidy",
     {"src/base/a.c": source("unsigned char table[16] = {0};")},
     "src/base/a.c:2: a global that is neither const nor static"),
    ("a global pointer that may change", "tidy",
     {"src/base/a.c": source("char *name = 0;")},
     "src/base/a.c:2: a global that is neither const nor static"),
    ("a constant passes", "tidy", {"src/base/a.c": source("const int limit = 3;")}, ""),
    ("work left without a number", "tidy",
     {"src/base/a.c": source("/* TO" "DO: later */")},
     "src/base/a.c:2: a TO" "DO without an issue number"),
    ("work left with a number passes", "tidy",
     {"src/base/a.c": source("/* TO" "DO #12: later */")}, ""),
    ("what is allowed passes", "tidy",
     {"src/base/a.c": function(71), "tools/tidy.allow": "src/base/a.c:f # one state machine\n"},
     ""),
    ("what is allowed and not needed", "tidy",
     {"tools/tidy.allow": "src/base/a.c:f # one state machine\n"},
     "tools/tidy.allow: src/base/a.c:f is no longer needed"),
    ("a function that nothing calls", "tidy",
     {"src/base/a.c": source("void f(void)", "{", "}")},
     "src/base/a.c:f: nothing calls this function"),
    ("a name in a comment or a string is no call", "tidy",
     {"src/base/a.c": source("/* f() */", "void f(void)", "{", "    g(\"f\");", "}")},
     "src/base/a.c:f: nothing calls this function"),
    ("a function name in two files", "tidy",
     {"src/base/a.c": source("static void a_set(void)", "{", "}"),
      "src/chat/b.c": source("static void a_set(int n)", "{", "}")},
     "src/chat/b.c:a_set: src/base/a.c has a function of this name"),
    ("two versions of a function in one file pass", "tidy",
     {"src/base/a.c": source("#if A", "static void a_set(void)", "{", "}", "#else",
                             "static void a_set(void)", "{", "}", "#endif")}, ""),
    ("a static function named by one word", "tidy",
     {"src/base/a.c": source("static void set(void)", "{", "}")},
     "src/base/a.c:set: a function is named module_verb_object"),
    ("an inline function named by one word", "tidy",
     {"src/base/a.h": HEADER + "static inline int set(int n,\n    int m)\n{\n    return n;\n}\n"},
     "src/base/a.h:set: a function is named module_verb_object"),
    ("a static function named by a verb", "tidy",
     {"src/base/a.c": source("static void set_it(void)", "{", "}")},
     "src/base/a.c:set_it: a function is named module_verb_object"),
    ("a verb that is the name of the module passes", "tidy",
     {"src/base/sets.c": source("static void set_it(void)", "{", "}")}, ""),
    ("a name of one word that is allowed passes", "tidy",
     {"src/base/a.c": source("static void set(void)", "{", "}"),
      "tools/tidy.allow": "src/base/a.c:set # not renamed yet\n"}, ""),
    ("a test's function named by one word passes", "tidy",
     {"test/a_test.c": source("static void set(void)", "{", "}")}, ""),
    ("a function of the public header passes", "tidy",
     {"src/base/a.c": source("void f(void)", "{", "}"),
      "include/rationale.h": HEADER.replace("a.h", "rationale.h") + "void f(void);\n"}, ""),
    ("a function that only a test calls", "tidy",
     {"src/base/a.c": source("void f(void)", "{", "}"),
      "test/a_test.c": source("static void g(void)", "{", "    f();", "}")},
     "src/base/a.c:f: only tests call this function"),
    ("a function of a table passes", "tidy",
     {"src/base/a.c": source("void f(void)", "{", "}"), "src/base/a.def": "ROW(f)\n"}, ""),
    ("tests and fuzzers are looked at too", "tidy",
     {"fuzz/x_fuzz.c": source("int\tf(void);")}, "fuzz/x_fuzz.c:2: a tab"),
    ("a defect that no test names", "defects", {"test/a_test.c": "TEST(defect_2_it_is_gone)\n"},
     "incidents, weak points: no test is named defect_1_..."),
    ("a clean tree passes", "headers", {}, ""),
    ("a header that needs another first", "headers",
     {"src/base/a.h": HEADER + "size_t f(void);\n"}, "src/base/a.h: does not compile alone"),
    ("a header that cannot be included twice", "headers",
     {"src/base/a.h": HEADER.replace("#pragma once\n", "") + "struct s { int n; };\n"},
     "src/base/a.h: does not compile alone"),
    ("a header in a folder below", "headers",
     {"src/chat/deep/d.h": HEADER + "no_such_type f(void);\n"},
     "src/chat/deep/d.h: does not compile alone"),
    ("the public header", "headers",
     {"include/rationale.h": HEADER + "no_such_type f(void);\n"},
     "include/rationale.h: does not compile alone"),
]

LOG = '#include "base/log.h"\n#include "base/secret.h"\n'
USE = LOG + "void f(str s, struct secret k, const char *z);\n" \
            "void f(str s, struct secret k, const char *z)\n{\n    %s\n    (void)s, (void)k, (void)z;\n}\n"

# claim, a statement with s (str), k (struct secret), z (char *), whether it compiles.
TRAPS = [
    ("fields have types", 'log_info("x", LOG_STR("s", s), LOG_TEXT("z", z));', True),
    ("a line needs no fields", 'log_info("x");', True),
    ("no secret in a text field", 'log_info("x", LOG_STR("k", k));', False),
    ("no pointer to a secret in a text field", 'log_info("x", LOG_TEXT("k", &k));', False),
    ("no secret's page in a text field", 'log_info("x", LOG_TEXT("k", k.page));', False),
    ("no secret as a field", 'log_info("x", k);', False),
    ("no secret as a number", 'log_info("x", LOG_U64("k", k));', False),
    ("no message that is not a literal", "log_info(z);", False),
    ("no name that is not a literal", 'log_info("x", LOG_STR(z, s));', False),
    ("no text without its type", 'log_info("x", s);', False),
    ("no secret in a printf", 'printf("%s", k);', False),
    ("no look inside a secret", "(void)k.page->bytes;", False),
]


def run(tool, tree):
    where = {"layers": [tree / "src"], "tidy": [tree], "defects": [tree], "headers": [tree, *COMPILER]}[tool]
    return subprocess.run([ROOT / "tools" / tool, *where], capture_output=True, text=True)


def plant(tree, files):
    for name, text in {**CLEAN, **files}.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def check_case(tool, files, says):
    with tempfile.TemporaryDirectory() as folder:
        plant(Path(folder), files)
        done = run(tool, Path(folder))
    if says == "":
        return done.returncode == 0 and done.stdout + done.stderr == "", done
    return done.returncode == 1 and says in done.stdout, done


def check_trap(statement, compiles):
    done = subprocess.run([*COMPILER, f"-I{ROOT}/src", "-fsyntax-only", "-x", "c", "-"],
                          input=USE.replace("%s", statement, 1), capture_output=True, text=True)
    return (done.returncode == 0) == compiles, done


def check_symbols(names, says):
    """Checks an archive of files that define these names."""
    with tempfile.TemporaryDirectory() as folder:
        for n, name in enumerate(names):
            subprocess.run(["cc", "-c", "-x", "c", "-", "-o", f"{folder}/{n}.o"],
                           input=f"int {name}(void) {{ return {n}; }}\n", text=True, check=True)
        subprocess.run(["ar", "rc", f"{folder}/a.a", *(f"{folder}/{n}.o" for n in range(len(names)))], check=True)
        done = subprocess.run([ROOT / "tools/symbols", f"{folder}/a.a"], capture_output=True, text=True)
    return done.returncode == bool(says) and says in done.stdout, done


def main():
    results = [(f"{tool}: {claim}", *check_case(tool, files, says))
               for claim, tool, files, says in CASES]
    results += [(f"compiler: {claim}", *check_trap(statement, compiles))
                for claim, statement, compiles in TRAPS]
    results += [("symbols: each once", *check_symbols(["one", "two"], "")),
                ("symbols: one twice", *check_symbols(["one", "two", "one"], "defined twice:\none"))]
    failed = [r for r in results if not r[1]]
    for claim, _, done in failed:
        print(f"FAILED {claim}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
