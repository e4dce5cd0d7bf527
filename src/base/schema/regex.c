/* How the time of a match is limited.
 *
 * PCRE2's match limit starts again at every place in the text where a match could begin, so on a
 * long text it limits nothing. Instead, PCRE2 calls us before each item of the pattern (an
 * automatic callout), and we charge one step and the distance moved since the last call: this is
 * the cost of the previous item, whether a star that ran over a megabyte or a backtrack. A back
 * reference may compare many bytes without moving, so a step costs more in patterns with one.
 * PCRE2's own limits remain as a second protection, and its heap limit bounds the memory.
 *
 * The interpreter is used, not the JIT: property patterns meet short strings, and a process that
 * reads strangers' schemas is better off without writable code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_LIMIT 2000000u
#define DEPTH_LIMIT 500000u
#define HEAP_LIMIT_KIB 65536u
#define TRANSLATED_MAX ((size_t)SCHEMA_PATTERN_MAX * 256)

struct schema_regex {
    pcre2_code *code;
    char *source;
    size_t source_size, size;
    bool backs; /* has a back reference */
};

static pcre2_code *schema_regex_compile(str text, struct err *e)
{
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                             PCRE2_ALLOW_EMPTY_CLASS | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code;
    PCRE2_SIZE at;
    int problem;

    if (!context)
        base_die("regular expression: no memory");
    /* A lone surrogate is a character that no text has. */
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALLOW_SURROGATE_ESCAPES);
    code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &problem, &at, context);
    pcre2_compile_context_free(context);
    if (!code) {
        PCRE2_UCHAR why[120];

        if (pcre2_get_error_message(problem, why, sizeof why) < 0)
            why[0] = '\0';
        err_input(e, "not a regular expression: %s", (const char *)why);
    }
    return code;
}

bool schema_regex_new(str pattern, struct schema_regex **out, struct err *e)
{
    struct schema_regex *r = NULL;
    pcre2_code *code = NULL;
    struct buf text;
    uint32_t backs;

    buf_init(&text, TRANSLATED_MAX);
    if (!schema_pattern_translate(pattern, &text, e))
        goto out;
    code = schema_regex_compile(buf_str(&text), e);
    if (!code)
        goto out;
    r = base_alloc(sizeof *r);
    *r = (struct schema_regex){.code = code, .source_size = pattern.n};
    r->source = base_alloc(pattern.n + 1);
    memcpy(r->source, pattern.p, pattern.n);
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &r->size);
    pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &backs);
    r->backs = backs > 0;
    *out = r;
out:
    buf_release(&text);
    return r != NULL;
}

void schema_regex_free(struct schema_regex *r)
{
    pcre2_code_free(r->code);
    free(r->source);
    free(r);
}

str schema_regex_source(const struct schema_regex *r)
{
    return (str){r->source, r->source_size};
}

size_t schema_regex_size(const struct schema_regex *r)
{
    return r->size + r->source_size + sizeof *r;
}

/* Called by PCRE2 before each item of the pattern. */
static int schema_regex_on_step(pcre2_callout_block *block, void *ctx)
{
    struct schema_matcher *m = ctx;
    size_t at = block->current_position;
    uint64_t cost = 1 + (at > m->last_at ? at - m->last_at : m->last_at - at) + m->step_extra;

    assert(m->work);
    m->last_at = at;
    if (*m->work < cost) {
        *m->work = 0;
        return PCRE2_ERROR_MATCHLIMIT;
    }
    *m->work -= cost;
    return 0;
}

static void schema_regex_prepare(struct schema_matcher *m)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);

    assert(!m->context && !m->data);
    if (!context || !data)
        base_die("regular expression: no memory");
    pcre2_set_match_limit(context, MATCH_LIMIT);
    pcre2_set_depth_limit(context, DEPTH_LIMIT);
    pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
    pcre2_set_callout(context, schema_regex_on_step, m);
    m->context = context;
    m->data = data;
}

enum schema_match schema_regex_match(const struct schema_regex *r, struct schema_matcher *m,
                                     str text)
{
    int found;

    assert(m->work && !m->context == !m->data);
    if (!m->context)
        schema_regex_prepare(m);
    m->last_at = 0;
    m->step_extra = r->backs ? text.n / 16 : 0;
    found = pcre2_match(
        r->code, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK, m->data, m->context);
    if (found >= 0)
        return SCHEMA_MATCH_YES;
    return found == PCRE2_ERROR_NOMATCH ? SCHEMA_MATCH_NO : SCHEMA_MATCH_LIMIT;
}

void schema_matcher_release(struct schema_matcher *m)
{
    pcre2_match_context_free(m->context);
    pcre2_match_data_free(m->data);
    m->context = m->data = NULL;
}
