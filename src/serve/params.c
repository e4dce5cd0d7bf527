/* params.c - parameters of a query: decoded, typed, limited; errors name the parameter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/params.h"

#include "base/ctype.h"
#include "base/utf8.h"

#define NAME_SHOWN_MAX 60 /* bytes of an unknown parameter's name in an error */

bool params_decode(struct arena *a, str text, bool query, str *out)
{
    char *p = arena_alloc(a, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '%') {
            int high = i + 2 < text.n ? char_hex_value(text.p[i + 1]) : -1;
            int low = i + 2 < text.n ? char_hex_value(text.p[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && query) {
            c = ' ';
        }
        if (c == '\0')
            return false;
        p[n++] = c;
    }
    assert(n <= text.n);
    p[n] = '\0';
    *out = (str){p, n};
    return utf8_valid(*out);
}

void params_wrong(struct params *p, const char *field, const char *expected, const char *fmt, ...)
{
    va_list args;

    assert(field && expected);
    if (p->field)
        return;
    p->field = field;
    p->expected = expected;
    va_start(args, fmt);
    (void)vsnprintf(p->why, sizeof p->why, fmt, args);
    va_end(args);
}

void params_init(struct params *p, struct exchange *ex, struct arena *a)
{
    str rest = server_request(ex->x)->query;

    p->ex = ex;
    p->n = p->known_count = 0;
    p->field = p->expected = NULL;
    p->value = STR("");
    while (rest.n) {
        str value = str_cut(&rest, '&'), name;

        if (value.n == 0)
            continue;
        name = str_cut(&value, '=');
        if (p->n == PARAMS_MAX) {
            params_wrong(p, "query", "string", "there are more than %d parameters", PARAMS_MAX);
            return;
        }
        if (!params_decode(a, name, true, &p->at[p->n].name) ||
            !params_decode(a, value, true, &p->at[p->n].value)) {
            params_wrong(p, "query", "string", "a parameter is not UTF-8 written with %%XX");
            return;
        }
        p->n++;
    }
}

static void params_know(struct params *p, str name)
{
    for (size_t i = 0; i < p->known_count; i++)
        if (str_eq(p->known[i], name))
            return;
    assert(p->known_count < PARAMS_KNOWN_MAX);
    p->known[p->known_count++] = name;
}

str params_text(struct params *p, const char *name)
{
    assert(p->n <= PARAMS_MAX);
    params_know(p, str_c(name));
    for (size_t i = 0; i < p->n; i++) {
        if (!str_eq(p->at[i].name, str_c(name)))
            continue;
        if (p->at[i].value.n > PARAMS_TEXT_MAX) {
            p->value = p->field ? p->value : str_slice(p->at[i].value, 0, 100);
            params_wrong(p, name, "string", "must be at most %d bytes", PARAMS_TEXT_MAX);
        }
        return p->at[i].value;
    }
    return STR("");
}

int64_t params_i64(struct params *p, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    str text = params_text(p, name);
    uint64_t n;

    assert(min <= max);
    if (text.n == 0)
        return otherwise;
    if (str_u64(text, &n) && n <= (uint64_t)max && (int64_t)n >= min)
        return (int64_t)n;
    p->value = p->field ? p->value : text;
    if (max == INT64_MAX)
        params_wrong(p, name, "integer", "must be a whole number from %lld on", (long long)min);
    else
        params_wrong(p,
                     name,
                     "integer",
                     "must be a whole number from %lld to %lld",
                     (long long)min,
                     (long long)max);
    return otherwise;
}

int params_flag(struct params *p, const char *name)
{
    str text = params_text(p, name);

    if (text.n == 0)
        return -1;
    if (str_eq(text, STR("true")) || str_eq(text, STR("1")))
        return 1;
    if (str_eq(text, STR("false")) || str_eq(text, STR("0")))
        return 0;
    p->value = p->field ? p->value : text;
    params_wrong(p, name, "boolean", "must be true or false");
    return -1;
}

static void wrong_choice(struct params *p, const char *name, str text, const char *words)
{
    struct buf all;

    buf_init(&all, 512);
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        bool last = !at[n];

        buf_printf(&all, "%s%.*s", at == words ? "" : last ? " or " : ", ", (int)n, at);
        at += n + !last;
    }
    p->value = p->field ? p->value : text;
    params_wrong(p, name, "string", "must be " STR_FMT, STR_ARG(buf_str(&all)));
    buf_release(&all);
}

str params_choice(struct params *p, const char *name, const char *words)
{
    str text = params_text(p, name);

    if (text.n == 0 || str_is_one_of(text, words))
        return text;
    wrong_choice(p, name, text, words);
    return STR("");
}

void params_dates(struct params *p, struct query_filter *f)
{
    f->start_us = params_i64(p, "start_date_us", -1, 0, INT64_MAX);
    f->end_us = params_i64(p, "end_date_us", -1, 0, INT64_MAX);
    if (f->start_us >= 0 && f->end_us >= 0 && f->end_us < f->start_us)
        params_wrong(p, "end_date_us", "integer", "must not be before start_date_us");
}

void params_sessions(struct params *p, struct query_filter *f)
{
    static const char statuses[] = "pending in_progress completed failed";

    assert(f->status_count <= QUERY_STATUS_MAX);
    params_know(p, STR("status"));
    for (size_t i = 0; i < p->n; i++) {
        str text = p->at[i].value;

        if (!str_eq(p->at[i].name, STR("status")) || text.n == 0)
            continue;
        if (!str_is_one_of(text, statuses))
            wrong_choice(p, "status", text, statuses);
        else if (f->status_count < QUERY_STATUS_MAX)
            f->status[f->status_count++] = text;
    }
    f->agent_type = params_text(p, "agent_type");
    f->alert_type = params_text(p, "alert_type");
    f->search = params_text(p, "search");
    f->model = params_text(p, "model");
    f->key = params_text(p, "key");
    f->tool = params_text(p, "tool");
    f->subject = params_text(p, "subject");
    f->has_reasoning = params_flag(p, "has_reasoning");
    params_dates(p, f);
    if (f->search.n && utf8_count(f->search) < 3) {
        p->value = p->field ? p->value : f->search;
        params_wrong(p, "search", "string", "must have at least 3 characters");
    }
}

void params_decisions(struct params *p, struct query_filter *f)
{
    f->search = params_text(p, "q");
    f->tool = params_text(p, "tool");
    f->kind = params_choice(p, "kind", "TOOL_CALL DIRECT");
    f->session_id = params_text(p, "session_id");
    f->model = params_text(p, "model");
    params_dates(p, f);
}

static bool params_is_known(const struct params *p, str name)
{
    if (str_starts(name, STR("_")))
        return true;
    for (size_t i = 0; i < p->known_count; i++)
        if (str_eq(name, p->known[i]))
            return true;
    return false;
}

/* Names the parameter, and those that there are. */
static void params_refuse_unknown(struct params *p, size_t i)
{
    str name = p->at[i].name;
    struct buf why;

    buf_init(&why, 4096);
    buf_add(&why, STR("there is no such parameter here"));
    for (size_t k = 0; k < p->known_count; k++)
        buf_printf(&why, "%s" STR_FMT, k ? ", " : "; there are ", STR_ARG(p->known[k]));
    buf_add_c(&why, '\0');
    assert(!buf_full(&why));
    api_invalid(p->ex,
                400,
                name.n <= NAME_SHOWN_MAX ? name.p : "query",
                p->at[i].value,
                "none",
                arena_move_buf(server_arena(p->ex->x), &why).p);
}

bool params_ok(struct params *p)
{
    assert(!p->field == !p->expected);
    if (p->field) {
        api_invalid(p->ex, 422, p->field, p->value, p->expected, p->why);
        return false;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!params_is_known(p, p->at[i].name)) {
            params_refuse_unknown(p, i);
            return false;
        }
    return true;
}

bool params_are(struct exchange *ex, const char *names)
{
    str rest = str_c(names);
    struct params p;

    params_init(&p, ex, server_arena(ex->x));
    while (rest.n)
        params_know(&p, str_cut(&rest, ' '));
    return params_ok(&p);
}
