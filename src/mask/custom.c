/* custom.c - patterns of the user's own.
 *
 * PCRE2's match limit starts again at every place where a match could begin, so on a long text it
 * does not limit the whole search. So each search covers a limited number of positions (an offset
 * limit), and the time is checked between searches: the time of the whole request if a budget is
 * set, else the time of this pattern on this text. When a limit is reached, the rest of the text is
 * masked under the pattern's name.
 *
 * In a stream, PCRE2 reports a match that could still grow as partial; the text from there on is
 * buffered.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "mask/internal.h"

#define MATCH_LIMIT 20000u
#define DEPTH_LIMIT 5000u
#define HEAP_LIMIT_KIB 8192u
#define STEP_MIN ((size_t)32)             /* positions searched at once by a slow pattern, */
#define STEP_MAX ((size_t)1024)           /* and by a fast one */
#define TIME_NS_MAX ((uint64_t)250000000) /* for one pattern on one text, if no budget is set */
#define LOOK_NS ((uint64_t)500000)        /* how often the CPU clock is read, which is slow */

static _Thread_local struct mask_budget *budget;

void mask_budget_set(struct mask_budget *b)
{
    budget = b;
}

bool mask_has_patterns(const struct mask *m)
{
    return m->custom_count > 0;
}

static pcre2_code *mask_custom_compile(str pattern, struct err *e)
{
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_USE_OFFSET_LIMIT |
                             PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_code *code;
    PCRE2_SIZE at;
    int problem;

    code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &problem, &at, NULL);
    if (!code) {
        PCRE2_UCHAR why[160];

        if (pcre2_get_error_message(problem, why, sizeof why) < 0)
            why[0] = '\0';
        err_input(
            e, "not a regular expression: %s at character %zu", (const char *)why, (size_t)at + 1);
    }
    return code;
}

/* Without the JIT the pattern still works, only slower. */
static void mask_speed_up(pcre2_code *code)
{
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
}

static bool mask_matches_nothing(pcre2_code *code)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    bool nothing = data && pcre2_match(code, (PCRE2_SPTR) "", 0, 0, 0, data, NULL) >= 0;

    pcre2_match_data_free(data);
    return nothing;
}

static bool mask_name_ok(str name)
{
    bool ok = name.n > 0 && name.n <= MASK_NAME_MAX;

    for (size_t i = 0; ok && i < name.n; i++)
        ok = mask_is(MASK_C_DOTTED, name.p[i]);
    return ok;
}

static bool mask_custom_check(const struct mask_pattern *p, pcre2_code **out, struct err *e)
{
    pcre2_code *code;

    if (!mask_name_ok(p->name))
        return err_input(e, "a name has 1 to 64 letters, digits, dots, - or _");
    if (p->pattern.n == 0 || p->pattern.n > MASK_PATTERN_SIZE_MAX)
        return err_input(e, "a pattern has 1 to %d bytes", MASK_PATTERN_SIZE_MAX);
    if (p->replacement.n > 1024)
        return err_input(e, "a replacement has at most 1024 bytes");
    code = mask_custom_compile(p->pattern, e);
    if (!code)
        return false;
    if (mask_matches_nothing(code)) {
        pcre2_code_free(code);
        return err_input(e, "the pattern matches the empty text, so it would be anywhere");
    }
    *out = code;
    return true;
}

bool mask_pattern_check(const struct mask_pattern *p, struct err *e)
{
    pcre2_code *code;

    if (!mask_custom_check(p, &code, e))
        return false;
    pcre2_code_free(code);
    return true;
}

bool mask_customs_new(struct mask *m, const struct mask_options *o, struct err *e)
{
    assert(o->pattern_count <= MASK_PATTERNS_MAX && !m->customs);
    m->context = pcre2_match_context_create(NULL);
    if (!m->context)
        base_die("masking: no memory");
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(m->context, HEAP_LIMIT_KIB);
    m->customs = base_alloc((o->pattern_count + 1) * sizeof m->customs[0]);
    for (size_t i = 0; i < o->pattern_count; i++) {
        if (!mask_custom_check(&o->patterns[i], &m->customs[i], e))
            return err_prefix(
                e, "pattern " STR_FMT ": ", STR_ARG(str_slice(o->patterns[i].name, 0, 64)));
        mask_speed_up(m->customs[i]);
        m->custom_count++;
    }
    return true;
}

void mask_customs_free(struct mask *m)
{
    for (size_t i = 0; i < m->custom_count; i++)
        pcre2_code_free(m->customs[i]);
    free(m->customs);
    pcre2_match_context_free(m->context);
}

static uint64_t custom_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct search {
    const struct mask_view *t;
    size_t rule;
    pcre2_match_data *data;
    pcre2_match_context *context;
    struct mask_spans *out;
    uint64_t wall_ns, cpu_ns; /* at the last check of the time; 0: not checked yet */
    uint64_t spent_ns;        /* used by this pattern */
    size_t step;
    uint32_t options;
};

/* Adds the time since the last check; returns whether the limit is exceeded. */
static bool custom_is_over(struct search *s)
{
    uint64_t wall = custom_clock_ns(CLOCK_MONOTONIC), cpu, took;

    if (wall - s->wall_ns < LOOK_NS) {
        s->step = 2 * s->step < STEP_MAX ? 2 * s->step : STEP_MAX;
        return false;
    }
    s->step = STEP_MIN;
    s->wall_ns = wall;
    cpu = custom_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    took = s->cpu_ns ? cpu - s->cpu_ns : LOOK_NS;
    s->cpu_ns = cpu;
    s->spent_ns += took;
    if (!budget)
        return s->spent_ns > TIME_NS_MAX;
    budget->left_ns -= took < budget->left_ns ? took : budget->left_ns;
    budget->over |= budget->left_ns == 0;
    return budget->left_ns == 0;
}

static void mask_custom_give_up(struct search *s, size_t at)
{
    assert(at <= s->t->s.n && s->rule >= MASK_RULE_COUNT);
    mask_spans_add(s->out, (struct mask_span){at, s->t->s.n, s->rule, at, {0}});
}

/* Searches the whole text for one pattern. */
static void mask_custom_search(struct search *s, const pcre2_code *code)
{
    str text = s->t->s;
    size_t at = s->t->floor;

    assert(at <= text.n && code);
    s->spent_ns = 0;
    s->step = STEP_MIN;
    if (budget && budget->left_ns == 0 && at < text.n) {
        budget->over = true;
        mask_custom_give_up(s, at);
        return;
    }
    while (at < text.n) {
        const PCRE2_SIZE *place = pcre2_get_ovector_pointer(s->data);
        size_t step = at + s->step < text.n ? at + s->step : text.n;
        int found;

        pcre2_set_offset_limit(s->context, step);
        found = pcre2_match(code, (PCRE2_SPTR)text.p, text.n, at, s->options, s->data, s->context);
        if (found == PCRE2_ERROR_PARTIAL) {
            mask_spans_hold(s->out, place[0], s->rule, (struct mask_open){.end = MASK_END_WORD});
            return;
        }
        if (found == PCRE2_ERROR_NOMATCH) {
            at = step < text.n ? step + 1 : text.n;
            /* A match cannot begin within a UTF-8 character. */
            while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80)
                at++;
        } else if (found < 0) {
            mask_custom_give_up(s, at);
            return;
        } else {
            mask_spans_add(s->out, (struct mask_span){place[0], place[1], s->rule, place[0], {0}});
            at = place[1] > at ? place[1] : at + 1;
        }
        if (at < text.n && custom_is_over(s)) {
            mask_custom_give_up(s, at);
            return;
        }
    }
}

void mask_customs_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out)
{
    struct search s = {.t = t, .out = out, .wall_ns = custom_clock_ns(CLOCK_MONOTONIC)};

    s.data = pcre2_match_data_create(1, NULL);
    s.context = pcre2_match_context_copy(m->context);
    s.options = PCRE2_NOTEMPTY;
    if (!t->final)
        /* The compiled code of PCRE2 10.42 reads past the end of a text that ends within a
         * character if partial matches count; its interpreter does not. */
        s.options |= PCRE2_PARTIAL_HARD | (utf8_valid(t->s) ? 0 : PCRE2_NO_JIT);
    if (!s.data || !s.context)
        base_die("masking: no memory");
    assert(MASK_RULE_COUNT + m->custom_count == m->rule_count);
    for (size_t i = 0; i < m->custom_count; i++) {
        s.rule = MASK_RULE_COUNT + i;
        mask_custom_search(&s, m->customs[i]);
    }
    pcre2_match_data_free(s.data);
    pcre2_match_context_free(s.context);
}
