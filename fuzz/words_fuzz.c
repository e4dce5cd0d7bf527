/* The word set of a text has the keys of its words, and contains every word that matches. The first
 * byte gives the part of the input that is the query; the rest is the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_key(const uint64_t *keys, size_t n, uint64_t lo, uint64_t hi)
{
    size_t from = 0, to = n;

    while (from < to) {
        size_t mid = (from + to) / 2;

        if (keys[mid] < lo)
            from = mid + 1;
        else
            to = mid;
    }
    return from < n && keys[from] <= hi;
}

static size_t check_words(str text, const uint64_t *keys, size_t n)
{
    struct words_reader r;
    size_t count = 0;

    words_read_init(&r, text);
    while (words_read(&r)) {
        str folded = {r.folded, r.n};
        uint64_t key = words_key(folded), lo, hi;

        assert(r.n > 0 && r.n <= WORDS_SIZE_MAX && utf8_valid(folded));
        assert(r.start >= text.p && r.start < r.at && r.at <= r.end);
        assert(has_key(keys, n, key, key));
        words_front_range(folded, &lo, &hi);
        assert(lo <= key && key <= hi && hi <= WORDS_KEY_MAX);
        count++;
    }
    return count;
}

static void check_query(str typed, str text, const uint64_t *keys, size_t n)
{
    const struct words_scope scopes[] = {{STR("a:"), 0}, {STR("b:"), 1}};
    const str fields[] = {text, text};
    struct words_query q;
    struct words_hit hit;
    struct arena a;
    bool exact;

    arena_init(&a, 1 << 20);
    if (words_query_parse(typed, scopes, COUNT_OF(scopes), &a, &q)) {
        exact = words_match(&q, fields, 3, false, &hit);
        for (int front = 0; front < 2; front++) {
            if (!words_match(&q, fields, 3, front, &hit)) {
                assert(!exact);
                continue;
            }
            assert(hit.field < 2 && hit.at < text.n);
            for (size_t i = 0; i < q.part_count; i++) {
                uint64_t lo, hi;

                words_query_range(&q, i, front, &lo, &hi);
                assert(has_key(keys, n, lo, hi));
            }
            assert(utf8_valid(words_snippet(text, hit.at, 24, &a)));
        }
    }
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words_set set;
    const uint64_t *keys;
    str all = {(const char *)data, size}, typed, text;
    size_t n;

    if (size == 0)
        return 0;
    typed = str_slice(all, 1, 1 + (size_t)data[0]);
    text = str_slice(all, 1 + typed.n, size);
    words_set_init(&set);
    words_set_add_text(&set, text);
    keys = words_set_sorted(&set, &n);
    for (size_t i = 1; i < n; i++)
        assert(keys[i - 1] < keys[i]);
    assert(check_words(text, keys, n) >= n);
    check_query(typed, text, keys, n);
    words_set_release(&set);
    return 0;
}
