/* Tests of the splitter's promises.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "split/extract.h"
#include "split/split.h"
#include "test.h"

/* Counts all allocations of our own code. */
static size_t allocations;

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_realloc(void *p, size_t size)
{
    allocations++;
    return __real_realloc(p, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

/* ---- any text ---- */

/* The joined output, in a form that allows two splits to be compared. */
struct record {
    char all[8192], kind[8192]; /* the runs, and a kind for each byte */
    size_t n;
    char notes[4096];
    size_t note_size;
};

static void record_run(void *ctx, enum split_kind kind, str run)
{
    struct record *r = ctx;

    CHECK(run.n > 0 && r->n + run.n <= sizeof r->all);
    memcpy(r->all + r->n, run.p, run.n);
    memset(r->kind + r->n, '0' + (int)kind, run.n);
    r->n += run.n;
}

static void record_note(void *ctx, const struct split_note *note)
{
    struct record *r = ctx;
    int n;

    n = snprintf(r->notes + r->note_size,
                 sizeof r->notes - r->note_size,
                 "%zu:%d%d%.*s ",
                 note->what == SPLIT_SETTLED ? 0 : r->n,
                 (int)note->what,
                 (int)note->kind,
                 STR_ARG(note->name));
    if ((size_t)n < sizeof r->notes - r->note_size)
        r->note_size += (size_t)n;
    if (note->what == SPLIT_RECLASSIFY) {
        CHECK(note->size <= r->n);
        memset(r->kind + r->n - note->size, '0' + SPLIT_REASONING, note->size);
    }
}

/* Fragments of markers, of texts similar to markers, and of text around them. */
static str fragment(const struct split_format *f, struct rand *rand)
{
    static const str other[] = {
        STR_INIT("a"),           STR_INIT("word "),
        STR_INIT("\n"),          STR_INIT("\n\n"),
        STR_INIT(" "),           STR_INIT("`"),
        STR_INIT("\""),          STR_INIT("'"),
        STR_INIT("```\n"),       STR_INIT("```py\n"),
        STR_INIT("~~~\n"),       STR_INIT("<"),
        STR_INIT("</"),          STR_INIT("<|"),
        STR_INIT("|>"),          STR_INIT("思"),
        STR_INIT("🌈"),           STR_INIT("\xE6"),
        STR_INIT("\x80"),        STR_INIT("\xFF"),
        STR_INIT("assistant"),   STR_INIT("final"),
        STR_INIT("analysis"),    STR_INIT(" to=functions.f"),
        STR_INIT("\0"),          STR_INIT("json"),
        STR_INIT("commentary"),  STR_INIT(" to=self"),
        STR_INIT("<|start|>"),   STR_INIT("<|channel|>"),
        STR_INIT("<|message|>"), STR_INIT("<|constrain|>"),
        STR_INIT("<|sep|>"),
    };
    uint64_t pick = rand_below(rand, 100);

    if (pick < 55) {
        str m = f->marks[rand_below(rand, f->mark_count)].text;

        return pick < 42 ? m : str_slice(m, 0, 1 + (size_t)rand_below(rand, m.n));
    }
    return other[rand_below(rand, COUNT_OF(other))];
}

static size_t make_text(const struct split_format *f, struct rand *rand, char *out, size_t cap)
{
    size_t n = 0, count = (size_t)rand_below(rand, 24);

    for (size_t i = 0; i < count; i++) {
        str piece = fragment(f, rand);

        if (n + piece.n > cap)
            break;
        memcpy(out + n, piece.p, piece.n);
        n += piece.n;
    }
    return n;
}

/* No UTF-8 character may span the end of a run. */
static void check_run_ends(str text, const size_t *ends, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n && at < text.n;) {
        uint32_t code;
        size_t size = utf8_decode(str_slice(text, at, text.n), &code);

        size = size ? size : 1;
        while (i < n && ends[i] <= at)
            i++;
        CHECK_F(i == n || ends[i] >= at + size, "a run ends inside the character at %zu", at);
        at += size;
    }
}

struct ends {
    struct record *record;
    size_t at[8192], n;
};

static void ends_run(void *ctx, enum split_kind kind, str run)
{
    struct ends *e = ctx;

    record_run(e->record, kind, run);
    CHECK(e->n < COUNT_OF(e->at));
    e->at[e->n++] = e->record->n;
}

static void ends_note(void *ctx, const struct split_note *note)
{
    record_note(((struct ends *)ctx)->record, note);
}

/* The most bytes that may be held: white space, a marker or a header, and the next byte. */
static size_t hold_limit(const struct split_format *f)
{
    size_t longest = f->header ? 256 + 64 : 0;

    for (size_t i = 0; i < f->mark_count; i++) {
        size_t n = f->marks[i].text.n + (f->marks[i].rules & SPLIT_SUFFIX ? 34 : 0);

        longest = n > longest ? n : longest;
    }
    return longest + 64;
}

static struct arena lent; /* memory for splitters of split_size bytes */

/* With `rand`: in random pieces, with a splitter of exactly split_size bytes. */
static void split_in_pieces(const struct split_format *f, bool inside, str text, struct rand *rand,
                            struct record *r, struct split *sp)
{
    static struct ends ends;
    size_t step_max;

    memset(r, 0, sizeof *r);
    r->n = r->note_size = 0;
    ends.record = r;
    ends.n = 0;
    split_init(sp, f, inside, (struct split_sink){ends_run, ends_note, &ends});
    sp->trusted = rand && rand_below(rand, 2) && utf8_valid(text);
    sp->arena = rand ? &lent : NULL;
    step_max = rand && rand_below(rand, 2) ? 9 : 80;
    for (size_t at = 0; at < text.n;) {
        size_t step = rand ? 1 + (size_t)rand_below(rand, step_max) : text.n;

        while (sp->trusted && at + step < text.n && (text.p[at + step] & 0xC0) == 0x80)
            step++;
        split_feed(sp, str_slice(text, at, at + step));
        CHECK_F(sp->held <= hold_limit(f), "%s holds %zu bytes", f->id, sp->held);
        at += step;
    }
    split_finish(sp);
    check_run_ends(text, ends.at, ends.n);
}

/* For any text and any division, no byte is lost and the output is the same, also with a format's
 * index. */
TEST(no_cut_shows_and_no_byte_is_lost_in_any_text)
{
    static struct record whole, cut;
    const struct split_format *f;
    struct split_format indexed;
    struct split_index index;
    struct rand rand;
    struct split sp, *sp2;
    char text[4096];
    size_t grown = 0;

    arena_init(&lent, 1 << 20);
    rand_init(&rand, 20260101);
    for (size_t i = 0; (f = split_format_at(i)); i++) {
        indexed = *f;
        split_index_init(&index, f);
        indexed.index = &index;
        for (int round = 0; round < 2000; round++) {
            str s = {text, make_text(f, &rand, text, sizeof text)};
            bool inside = rand_below(&rand, 2);

            split_in_pieces(f, inside, s, NULL, &whole, &sp);
            CHECK_F(whole.n == s.n && memcmp(whole.all, s.p, s.n) == 0, "%s lost bytes", f->id);
            sp2 = base_alloc(split_size(round % 2 ? &indexed : f)); /* exact size, for sanitizers */
            split_in_pieces(round % 2 ? &indexed : f, inside, s, &rand, &cut, sp2);
            CHECK_F(whole.n == cut.n && memcmp(whole.all, cut.all, s.n) == 0 &&
                        memcmp(whole.kind, cut.kind, s.n) == 0,
                    "%s%s shows a cut in: " STR_FMT "\n" STR_FMT "\n" STR_FMT,
                    f->id,
                    inside ? ", inside," : "",
                    STR_ARG(s),
                    (int)s.n,
                    whole.kind,
                    (int)s.n,
                    cut.kind);
            CHECK_F(whole.note_size == cut.note_size &&
                        memcmp(whole.notes, cut.notes, whole.note_size) == 0,
                    "%s: notes %s / %s in " STR_FMT,
                    f->id,
                    whole.notes,
                    cut.notes,
                    STR_ARG(s));
            CHECK(sp.flags == sp2->flags && sp.state == sp2->state);
            CHECK(memcmp(sp.size, sp2->size, sizeof sp.size) == 0);
            grown += sp2->large != NULL;
            free(sp2);
            arena_reset(&lent);
            for (size_t k = 0, count[SPLIT_KIND_COUNT] = {0}; k < SPLIT_KIND_COUNT; k++) {
                for (size_t b = 0; b < s.n; b++)
                    count[k] += whole.kind[b] == '0' + (int)k;
                CHECK_F(count[k] == sp.size[k], "%s counts wrong", f->id);
            }
        }
    }
    CHECK(grown > 0);
    arena_release(&lent);
}

static void ignore_run(void *ctx, enum split_kind kind, str run)
{
    (void)ctx, (void)kind, (void)run;
}

TEST(feeding_allocates_nothing_and_holds_little_of_any_long_text)
{
    static const char *const units[] = {"a",
                                        " ",
                                        "<",
                                        "<think>",
                                        "</think>",
                                        "`",
                                        "\n```\n",
                                        "思",
                                        "<|start|>",
                                        "\xE6",
                                        "assistant",
                                        "]<]minimax[>["};
    const struct split_format *f;

    for (size_t i = 0; (f = split_format_at(i)); i++)
        for (size_t u = 0; u < COUNT_OF(units); u++) {
            size_t before = allocations;
            struct split sp;

            split_init(&sp, f, false, (struct split_sink){ignore_run, NULL, NULL});
            for (size_t n = 0; n < 2000; n++) {
                split_feed(&sp, str_c(units[u]));
                CHECK_F(sp.held <= hold_limit(f), "%s holds %zu of %s", f->id, sp.held, units[u]);
            }
            split_finish(&sp);
            CHECK_F(allocations == before, "%s allocates", f->id);
        }
}

/* Plain text is emitted at once. */
TEST(plain_text_is_not_held_back)
{
    struct split sp;

    split_init(
        &sp, split_format_find(STR("qwen3")), false, (struct split_sink){ignore_run, NULL, NULL});
    split_feed(&sp, STR("a <b"));
    CHECK_INT(sp.size[SPLIT_ANSWER], 4);
    split_feed(&sp, STR("> c </b"));
    CHECK_INT(sp.size[SPLIT_ANSWER], 11);
    split_feed(&sp, STR(" x\n<thi"));
    CHECK_INT(sp.size[SPLIT_ANSWER], 14);
    CHECK_INT(sp.held, 4);
    split_finish(&sp);
    CHECK_INT(sp.size[SPLIT_ANSWER], 18);
}

TEST(bytes_that_are_no_characters_pass_and_are_flagged)
{
    static struct record r;
    struct split sp;
    str text = STR("<think>\xFF\xE6\x80</think>\x80 ok");

    split_in_pieces(split_format_find(STR("think")), false, text, NULL, &r, &sp);
    CHECK(r.n == text.n && memcmp(r.all, text.p, text.n) == 0);
    CHECK_INT(sp.flags, SPLIT_INVALID_UTF8);
    CHECK_INT(sp.size[SPLIT_REASONING], 3);
}

/* ---- pairs and formats ---- */

TEST(a_pair_of_ones_own_is_a_format)
{
    static struct record r;
    struct split_pair pair;
    struct split sp;
    struct err e;
    str text = STR("[plan]a[/plan]b");

    CHECK(split_pair_init(&pair, STR("[plan]"), STR("[/plan]"), &e));
    split_in_pieces(&pair.format, false, text, NULL, &r, &sp);
    CHECK_INT(sp.size[SPLIT_REASONING], 1);
    CHECK_INT(sp.size[SPLIT_ANSWER], 1);
    CHECK_INT(sp.state, SPLIT_COMPLETE);
}

TEST(a_pair_that_cannot_work_is_refused_with_a_reason)
{
    static char longest[SPLIT_MARK_MAX + 2];
    const struct {
        const char *open, *close, *why;
    } cases[] = {
        {"", "x", "the opening marker has 0 bytes; it must have 1 to 64"},
        {"x", longest, "the closing marker has 65 bytes; it must have 1 to 64"},
        {"x", "x", "the opening and the closing marker are the same"},
        {" x", "y", "the opening marker begins with white space"},
        {"\xFF", "y", "the opening marker is not UTF-8"},
    };
    struct split_pair pair;
    struct err e;

    memset(longest, 'y', SPLIT_MARK_MAX + 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(!split_pair_init(&pair, str_c(cases[i].open), str_c(cases[i].close), &e));
        CHECK_STR(str_c(e.text), cases[i].why);
    }
}

TEST(formats_have_an_id_each_and_markers_that_fit)
{
    const struct split_format *f;
    size_t n = 0;

    for (; (f = split_format_at(n)); n++) {
        CHECK_F(split_format_find(str_c(f->id)) == f, "%s stands twice", f->id);
        CHECK(f->families[0] && f->inside[0]);
        for (size_t i = 0; i < f->mark_count; i++) {
            CHECK(f->marks[i].text.n > 0 && f->marks[i].text.n <= SPLIT_MARK_MAX);
            CHECK_F(f->marks[i].in || f->marks[i].gap || f->marks[i].rules & SPLIT_TELLS,
                    "%s: a marker nobody looks for",
                    f->id);
        }
    }
    CHECK(n >= 43);
    CHECK(split_format_find(STR("nothing")) == NULL);
}

TEST(every_marker_that_tells_its_format_picks_one)
{
    const struct split_format *f, *picked;
    char text[2 * SPLIT_MARK_MAX];
    size_t n = 0;

    for (size_t i = 0; (f = split_format_at(i)); i++)
        for (size_t k = 0; k < f->mark_count; k++) {
            const struct split_mark *m = &f->marks[k];

            if (!(m->rules & SPLIT_TELLS))
                continue;
            n++;
            (void)snprintf(text,
                           sizeof text,
                           "\n " STR_FMT "%sx",
                           STR_ARG(m->text),
                           m->rules & SPLIT_SUFFIX ? ">" : "");
            CHECK_F(split_pick(str_c(text), true, &picked) == SPLIT_FULL_MATCH,
                    "%s: " STR_FMT,
                    f->id,
                    STR_ARG(m->text));
            CHECK(picked->mark_count > 0);
        }
    CHECK(n > 40);
    CHECK(split_pick(STR("Here is my thought process:"), true, &picked) == SPLIT_NO_MATCH);
    CHECK(picked == split_format_plain());
}

/* ---- lines ---- */

TEST(lines_know_their_start_and_their_fences)
{
    static const struct {
        const char *text;
        bool at_start;
        unsigned fence;
        bool ticks_odd;
    } cases[] = {
        {"", true, 0, false},
        {"a", false, 0, false},
        {"a\n", true, 0, false},
        {"a\n   ", true, 0, false},
        {"a\n    ", false, 0, false},
        {"```", false, 0, true},
        {"```\n", true, 3, false},
        {"   ```js\n", true, 3, false},
        {"```a`\n", true, 0, false},
        {"``\n", true, 0, false},
        {"````\n```\n", true, 4, false},
        {"```\n````  \n", true, 0, false},
        {"```\n```x\n", true, 3, false},
        {"~~~\n```\n", true, 3, false},
        {"~~~ `\n", true, 3, false},
        {"a ` b", false, 0, true},
        {"a ` b `", false, 0, false},
        {"a `\n", true, 0, false},
        {"`a` b ` c", false, 0, true},
        {"``a` `\n`", false, 0, true},
        {"~a ```\n```\n~~b\n``c", false, 3, false},
        {"\r\n```\r\nx\r\n```\r\n", true, 0, false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++) {
            str text = str_c(cases[i].text);
            struct split_line l;

            split_line_reset(&l, true);
            split_line_feed(&l, str_slice(text, 0, cut));
            split_line_feed(&l, str_slice(text, cut, text.n));
            CHECK_F(split_line_at_start(&l) == cases[i].at_start &&
                        l.fence_size == cases[i].fence && l.ticks_odd == cases[i].ticks_odd,
                    "case %zu, cut at %zu",
                    i,
                    cut);
        }
}

/* ---- extract ---- */

TEST(extract_gives_what_a_record_keeps)
{
    static const struct {
        const char *text;
        bool has;
        const char *reasoning, *response;
    } cases[] = {
        {"", false, "", ""},
        {"  no tags ", false, "", "  no tags "},
        {"<thinking> a\nb </thinking>\n c ", true, "a\nb", "c"},
        {"<reasoning>why</reasoning>What can I get you?", true, "why", "What can I get you?"},
        {"Sure. <thinking>a</thinking> Yes.", true, "a", "Sure.  Yes."},
        {"<thinking></thinking>x", true, "", "x"},
        {"<thinking>\u00a0\u3000a\u2003\n</thinking>\u00a0x\u00a0", true, "a", "x"},
        {"<thinking>\xC2\xA0\xA0 a\xA0</thinking>x", true, "\xA0 a\xA0", "x"},
        {"<thinking>a</thinking>x<thinking>b</thinking>y", true, "a\nb", "xy"},
        {"<thinking>a</thinking>x<reasoning>b</reasoning>y", true, "a\nb", "xy"},
        {"<thinking>a<thinking>b</thinking>c</thinking>d", true, "a<thinking>b</thinking>c", "d"},
        {"<thinking>use <thinking> tags</thinking>d", true, "use <thinking> tags", "d"},
        {"<thinking>a</reasoning>b</thinking>c", true, "a</reasoning>b", "c"},
        {"<thinking>never closed", true, "never closed", ""},
        {"x <thinking>never closed", true, "never closed", "x"},
        {"write `<thinking>` here", false, "", "write `<thinking>` here"},
        {"write `x <thinking> y` here", false, "", "write `x <thinking> y` here"},
        {"```\n<thinking>x</thinking>\n```", false, "", "```\n<thinking>x</thinking>\n```"},
        {"<thinking>say '</thinking>' last</thinking>ok", true, "say '</thinking>' last", "ok"},
        {"</thinking>x", false, "", "</thinking>x"},
        {"<thinking>say \"x\"</thinking>\"y\"", true, "say \"x\"", "\"y\""},
        {"<budget:thinking>a</budget:thinking>b", true, "a", "b"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct split_extract x;
        struct arena a;

        arena_init(&a, 1 << 16);
        split_extract(str_c(cases[i].text), &a, &x);
        CHECK_F(x.has_reasoning == cases[i].has, "%s", cases[i].text);
        CHECK_STR(x.raw_reasoning, cases[i].reasoning);
        CHECK_STR(x.summary, cases[i].reasoning);
        CHECK_STR(x.final_response, cases[i].response);
        arena_release(&a);
    }
}

TEST(hole_6_extract_sums_up_by_characters_not_by_bytes)
{
    struct buf b, want;
    struct arena a;

    arena_init(&a, 1 << 16);
    buf_init(&b, 1 << 16);
    buf_init(&want, 1 << 16);
    for (int count = 199; count <= 201; count++) {
        struct split_extract x;

        buf_reset(&b);
        buf_reset(&want);
        buf_add(&b, STR("<thinking>"));
        for (int i = 0; i < count; i++) {
            buf_add(&b, STR("🌈"));
            if (i < 200)
                buf_add(&want, STR("🌈"));
        }
        buf_add(&b, STR("</thinking>"));
        if (count > 200)
            buf_add(&want, STR("..."));
        split_extract(buf_str(&b), &a, &x);
        CHECK(str_eq(x.summary, buf_str(&want)));
        CHECK_INT(x.raw_reasoning.n, count * 4);
    }
    buf_release(&b);
    buf_release(&want);
    arena_release(&a);
}

TEST_MAIN(T(no_cut_shows_and_no_byte_is_lost_in_any_text),
          T(feeding_allocates_nothing_and_holds_little_of_any_long_text),
          T(plain_text_is_not_held_back), T(bytes_that_are_no_characters_pass_and_are_flagged),
          T(a_pair_of_ones_own_is_a_format), T(a_pair_that_cannot_work_is_refused_with_a_reason),
          T(formats_have_an_id_each_and_markers_that_fit),
          T(every_marker_that_tells_its_format_picks_one),
          T(lines_know_their_start_and_their_fences), T(extract_gives_what_a_record_keeps),
          T(hole_6_extract_sums_up_by_characters_not_by_bytes))
