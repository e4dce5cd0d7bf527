/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/guard.h"

#include "base/ctype.h"
#include "base/map.h"

static bool optimize_guard_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* ---- copies ---- */

/* The words of a text in lower case with one space after each; and where each began. */
struct flat {
    char *text;
    size_t size;
    struct place {
        size_t at, from, to; /* in flat.text, and in the text itself */
    } * words;
    size_t n;
};

static void optimize_guard_flatten_text(struct arena *a, str s, struct flat *f)
{
    f->text = arena_alloc(a, s.n * 2 + 1);
    f->words = arena_alloc(a, (s.n / 2 + 2) * sizeof *f->words);
    f->size = f->n = 0;
    for (size_t i = 0; i < s.n;) {
        size_t from = i;

        for (; i < s.n && optimize_guard_is_word(s.p[i]); i++)
            f->text[f->size + i - from] = char_to_lower(s.p[i]);
        if (i == from) {
            i++;
            continue;
        }
        f->words[f->n++] = (struct place){f->size, from, i};
        f->size += i - from;
        f->text[f->size++] = ' ';
    }
    assert(f->size <= s.n * 2 && f->n <= s.n / 2 + 1);
}

/* So many words from the one at `i`. */
static str optimize_guard_run_of(const struct flat *f, size_t i, size_t words)
{
    size_t from = f->words[i].at, to = i + words < f->n ? f->words[i + words].at : f->size;

    assert(i < f->n);
    return (str){f->text + from, to - from};
}

/* Every run of so many words, and where it begins. */
static void guard_add_runs(struct map *m, const struct flat *f, size_t words)
{
    struct err e;

    assert(words > 0);
    for (size_t i = 0; i + words <= f->n; i++)
        if (!map_find(m, optimize_guard_run_of(f, i, words)) &&
            !map_set(m, optimize_guard_run_of(f, i, words), MAP_U64(i), &e))
            return;
}

/* The runs of one length in the proposed and in the current text. */
struct runs {
    struct map proposed, current;
    size_t words;
};

static void guard_runs_init(struct runs *r, const struct flat *proposed, const struct flat *current,
                            size_t words)
{
    r->words = words;
    map_init(&r->proposed, NULL, MAP_COUNT_MAX);
    map_init(&r->current, NULL, MAP_COUNT_MAX);
    guard_add_runs(&r->proposed, proposed, words);
    guard_add_runs(&r->current, current, words);
}

static void guard_runs_release(struct runs *r)
{
    map_release(&r->proposed);
    map_release(&r->current);
}

static bool guard_find_copy(const struct runs *r, const struct flat *example, size_t *at)
{
    assert(r->words > 0);
    for (size_t i = 0; i + r->words <= example->n; i++) {
        str run = optimize_guard_run_of(example, i, r->words);
        struct map_entry *found = map_find(&r->proposed, run);

        if (found && !map_find(&r->current, run)) {
            *at = (size_t)found->value.u64;
            return true;
        }
    }
    return false;
}

bool guard_copies(str proposed, str current, const str *examples, size_t n, struct guard_copy *out)
{
    size_t sizes = GUARD_RUN_WORDS - GUARD_WHOLE_WORDS + 1, at = 0;
    struct runs runs[GUARD_RUN_WORDS - GUARD_WHOLE_WORDS + 1];
    struct flat p, c, x;
    struct arena a, each;
    bool found = false;

    arena_init(&a, (proposed.n + current.n) * 32 + ((size_t)1 << 20));
    optimize_guard_flatten_text(&a, proposed, &p);
    optimize_guard_flatten_text(&a, current, &c);
    for (size_t i = 0; i < sizes; i++)
        guard_runs_init(&runs[i], &p, &c, GUARD_WHOLE_WORDS + i);
    for (size_t i = 0; i < n && !found; i++) {
        arena_init(&each, examples[i].n * 32 + ((size_t)1 << 20));
        optimize_guard_flatten_text(&each, examples[i], &x);
        if (x.n >= GUARD_WHOLE_WORDS) {
            size_t words = x.n < GUARD_RUN_WORDS ? x.n : GUARD_RUN_WORDS;

            found = guard_find_copy(&runs[words - GUARD_WHOLE_WORDS], &x, &at);
            if (found)
                *out = (struct guard_copy){
                    i, str_slice(proposed, p.words[at].from, p.words[at + words - 1].to)};
        }
        arena_release(&each);
    }
    for (size_t i = 0; i < sizes; i++)
        guard_runs_release(&runs[i]);
    arena_release(&a);
    return found;
}

/* ---- names ---- */

static bool guard_occurs_in(str text, str name)
{
    size_t from = 0, at;

    while (name.n > 0 && (at = str_find(str_slice(text, from, text.n), name)) != STR_NONE) {
        size_t begin = from + at, end = begin + name.n;

        if ((begin == 0 || !optimize_guard_is_word(text.p[begin - 1]) ||
             !optimize_guard_is_word(name.p[0])) &&
            (end == text.n || !optimize_guard_is_word(text.p[end]) ||
             !optimize_guard_is_word(name.p[name.n - 1])))
            return true;
        from = begin + 1;
    }
    return false;
}

bool guard_loses(str proposed, str current, const str *names, size_t n, str *lost)
{
    for (size_t i = 0; i < n; i++)
        if (guard_occurs_in(current, names[i]) && !guard_occurs_in(proposed, names[i])) {
            *lost = names[i];
            return true;
        }
    return false;
}
