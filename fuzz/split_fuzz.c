/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as the text of a model. The first three pick the format (alone, or with the tags
 * that the gateway asks for), the start and the cuts. For every cut the splitter passes on all
 * bytes, each with the same kind, and reports the same notes, flags and sizes; a run ends at the
 * end of a character; few bytes are held; the collector returns the same texts and calls; extracted
 * text occurs in the input.
 */
#include "base/rand.h"
#include "base/utf8.h"
#include "split/collect.h"
#include "split/extract.h"

#define TEXT_MAX ((size_t)1 << 14)
#define NOTES_MAX ((size_t)1 << 16)
/* The longest gap, header or marker, and one byte. */
#define HELD_MAX 400

struct record {
    char all[TEXT_MAX], kind[TEXT_MAX], notes[NOTES_MAX];
    bool ends[TEXT_MAX + 1]; /* a run ends here */
    size_t n, note_size;
    struct split sp;
};

static struct record whole, cut;

static void on_run(void *ctx, enum split_kind kind, str run)
{
    struct record *r = ctx;

    assert(run.n > 0 && r->n + run.n <= sizeof r->all);
    memcpy(r->all + r->n, run.p, run.n);
    memset(r->kind + r->n, (int)kind, run.n);
    r->n += run.n;
    r->ends[r->n] = true;
}

static void on_note(void *ctx, const struct split_note *note)
{
    struct record *r = ctx;
    size_t room = sizeof r->notes - r->note_size;
    int n;

    if (note->what == SPLIT_RECLASSIFY) {
        assert(note->size <= r->n);
        memset(r->kind + r->n - note->size, SPLIT_REASONING, note->size);
    }
    /* Only the place where the splitter decides may depend on the cuts. */
    n = snprintf(r->notes + r->note_size,
                 room,
                 "%zu:%d:%d:" STR_FMT "\n",
                 note->what == SPLIT_SETTLED ? 0 : r->n,
                 (int)note->what,
                 (int)note->kind,
                 STR_ARG(note->name));
    r->note_size += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* How a text is cut: not at all, byte by byte, or at random. */
static size_t step_size(int way, str text, struct rand *rand)
{
    return way == 0   ? text.n
           : way == 1 ? 1
                      : 1 + (size_t)rand_below(rand, 1 + rand_below(rand, 100));
}

static void split_by(struct split *sp, const struct split_format *f, bool inside, str text, int way,
                     struct split_sink sink)
{
    struct rand rand;

    rand_init(&rand, (uint64_t)way);
    split_init(sp, f, inside, sink);
    sp->trusted = way & 1 && utf8_valid(text);
    for (size_t at = 0; at < text.n;) {
        size_t step = step_size(way, text, &rand);

        while (sp->trusted && at + step < text.n && (text.p[at + step] & 0xC0) == 0x80)
            step++;
        split_feed(sp, str_slice(text, at, at + step));
        assert(sp->held <= HELD_MAX);
        at += step;
    }
    split_finish(sp);
    assert(sp->held == 0);
}

static void record_by(struct record *r, const struct split_format *f, bool inside, str text,
                      int way)
{
    memset(r->ends, 0, text.n + 1);
    r->n = r->note_size = 0;
    split_by(&r->sp, f, inside, text, way, (struct split_sink){on_run, on_note, r});
}

static void check_one(const struct record *r, str text)
{
    size_t count[SPLIT_KIND_COUNT] = {0};
    uint32_t code;

    assert(r->n == text.n && memcmp(r->all, text.p, text.n) == 0);
    for (size_t i = 0; i < r->n; i++)
        count[(int)r->kind[i]]++;
    for (int k = 0; k < SPLIT_KIND_COUNT; k++)
        assert(count[k] == r->sp.size[k]);
    for (size_t at = 0, size; at < text.n; at += size) {
        size = utf8_decode(str_slice(text, at, text.n), &code);
        for (size_t i = 1; i < size; i++)
            assert(!r->ends[at + i]);
        size = size ? size : 1;
    }
    assert(!(r->sp.flags & SPLIT_INVALID_UTF8) || !utf8_valid(text));
}

static void check_same(const struct record *a, const struct record *b)
{
    assert(memcmp(a->kind, b->kind, a->n) == 0);
    assert(a->sp.flags == b->sp.flags && a->sp.state == b->sp.state);
    assert(memcmp(a->sp.size, b->sp.size, sizeof a->sp.size) == 0);
    assert(a->note_size == b->note_size && memcmp(a->notes, b->notes, a->note_size) == 0);
}

static void collect_by(struct split_collect *c, const struct split_format *f, bool inside, str text,
                       int way)
{
    struct split sp;
    struct err e;

    split_collect_init(c, STR("|"), 4 * TEXT_MAX);
    split_by(&sp, f, inside, text, way, split_collect_sink(c));
    if (!split_collect_ok(c, &e))
        base_die("%s", e.text);
}

static void check_collected(const struct split_format *f, bool inside, str text, int way)
{
    struct split_collect a, b;

    collect_by(&a, f, inside, text, 0);
    collect_by(&b, f, inside, text, way);
    assert(str_eq(buf_str(&a.reasoning), buf_str(&b.reasoning)));
    assert(str_eq(buf_str(&a.answer), buf_str(&b.answer)));
    assert(a.call_count == b.call_count && a.tools.unread == b.tools.unread);
    for (size_t i = 0; i < a.call_count; i++)
        assert(str_eq(a.calls[i].name, b.calls[i].name) &&
               str_eq(a.calls[i].arguments, b.calls[i].arguments));
    split_collect_release(&a);
    split_collect_release(&b);
}

static void check_extract(str text)
{
    struct split_extract x;
    struct arena a;

    arena_init(&a, 4 * TEXT_MAX);
    split_extract(text, &a, &x);
    assert(x.raw_reasoning.n + x.final_response.n <= text.n);
    assert(str_eq(x.raw_reasoning, str_trim(x.raw_reasoning)));
    assert(utf8_count(x.summary) <= SPLIT_SUMMARY_CHARACTERS + 3);
    if (x.has_reasoning)
        assert(str_eq(x.final_response, str_trim(x.final_response)));
    else
        assert(x.raw_reasoning.n == 0 && x.summary.n == 0 && str_eq(x.final_response, text));
    arena_release(&a);
}

/* The format with this number: those of the table, then the prompted ones, "auto", and a pair whose
 * markers are the front of the text. */
static const struct split_format *pick(unsigned number, struct split_pair *pair, str *text)
{
    const struct split_format *f;
    size_t count = 0, open, close;
    struct err e;
    str front;

    while (split_format_at(count))
        count++;
    if ((f = split_format_at(number % (count + 4))))
        return f;
    if (number % (count + 4) == count + 2)
        return split_format_auto();
    if (number % (count + 4) < count + 2 || text->n < 2)
        return split_format_prompted(number % SPLIT_PROMPTED_COUNT);
    open = 1 + (uint8_t)text->p[0] % 8;
    close = 1 + (uint8_t)text->p[1] % 8;
    front = str_slice(*text, 2, 2 + open + close);
    *text = str_slice(*text, 2 + open + close, text->n);
    if (!split_pair_init(pair, str_slice(front, 0, open), str_slice(front, open, front.n), &e))
        return split_format_prompted(SPLIT_PROMPTED_NESTED);
    return &pair->format;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct split_pair pair;
    struct split_format both;
    const struct split_format *f;
    bool inside;
    str text;

    if (size < 3 || size > TEXT_MAX)
        return 0;
    text = (str){(const char *)data + 3, size - 3};
    inside = data[1] & 1;
    f = pick(data[0], &pair, &text);
    if (data[1] & 2) {
        both = *f;
        both.also = split_format_asked();
        f = &both;
    }
    record_by(&whole, f, inside, text, 0);
    check_one(&whole, text);
    for (int way = 1; way < 3; way++) {
        record_by(&cut, f, inside, text, way < 2 ? way : 2 + data[2]);
        check_one(&cut, text);
        check_same(&whole, &cut);
        check_collected(f, inside, text, way < 2 ? way : 2 + data[2]);
    }
    check_extract(text);
    return 0;
}
