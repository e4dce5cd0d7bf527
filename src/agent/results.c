/* results.c - see results.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/results.h"

#include "base/json_get.h"
#include "base/utf8.h"

#define KEPT_MAX 1024
#define FOUND_MAX 40    /* matches that one search reports */
#define OUTPUT_MAX 8192 /* bytes of one answer: always shown whole */
#define BEFORE 160      /* bytes of the line before the match */
#define AFTER 320       /* bytes of it from the match on */
#define QUERY_MAX 256

struct kept_result {
    unsigned number;
    str text;
};

struct agent_results {
    pthread_mutex_t lock;
    struct kept_result at[KEPT_MAX]; /* the oldest first */
    size_t n, size;
    unsigned last;
};

struct agent_results *agent_results_new(void)
{
    struct agent_results *k = base_alloc(sizeof *k);

    memset(k, 0, sizeof *k);
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

static void agent_results_drop(struct agent_results *k)
{
    assert(k->n > 0 && k->size >= k->at[0].text.n);
    k->size -= k->at[0].text.n;
    free((char *)(uintptr_t)k->at[0].text.p);
    memmove(&k->at[0], &k->at[1], --k->n * sizeof k->at[0]);
}

void agent_results_free(struct agent_results *k)
{
    if (!k)
        return;
    while (k->n)
        agent_results_drop(k);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

unsigned agent_results_put(struct agent_results *k, str text)
{
    char *p = str_copy(text);
    unsigned number;

    pthread_mutex_lock(&k->lock);
    while (k->n && (k->n == KEPT_MAX || k->size + text.n > RESULTS_SIZE_MAX))
        agent_results_drop(k);
    assert(k->n < KEPT_MAX);
    number = ++k->last;
    k->size += text.n;
    k->at[k->n++] = (struct kept_result){number, {p, text.n}};
    pthread_mutex_unlock(&k->lock);
    return number;
}

/* ---- showing ---- */

static str agent_results_tail(str text, size_t size)
{
    assert(size <= text.n);
    size_t from = text.n - size;

    while (from < text.n && ((unsigned char)text.p[from] & 0xc0) == 0x80)
        from++;
    return str_slice(text, from, text.n);
}

str agent_results_show(struct agent_results *k, str text, size_t shown, struct arena *a)
{
    str head = utf8_cut_size(text, shown / 3 * 2), tail;
    unsigned number;

    if (text.n <= shown)
        return text;
    tail = agent_results_tail(text, shown / 3);
    assert(head.n + tail.n <= text.n);
    number = agent_results_put(k, text);
    return arena_printf(a,
                        STR_FMT "\n[%zu of %zu bytes are left out here. This is result %u: search "
                                "it with " RESULT_SEARCH
                                " {\"result\": %u, \"query\": \"...\"}]\n" STR_FMT,
                        STR_ARG(head),
                        text.n - head.n - tail.n,
                        text.n,
                        number,
                        number,
                        STR_ARG(tail));
}

/* ---- searching ---- */

static size_t agent_results_find(str text, str query, size_t from)
{
    assert(query.n > 0);
    for (; from + query.n <= text.n; from++)
        if ((text.p[from] | 32) == (query.p[0] | 32) &&
            strncasecmp(text.p + from, query.p, query.n) == 0)
            return from;
    return STR_NONE;
}

/* The line around a match, limited to these sizes. */
static str agent_results_line(str text, size_t at)
{
    size_t from = at, to = at;

    assert(at < text.n);
    while (from > 0 && at - from < BEFORE && text.p[from - 1] != '\n')
        from--;
    while (to < text.n && to - at < AFTER && text.p[to] != '\n')
        to++;
    while (from < at && ((unsigned char)text.p[from] & 0xc0) == 0x80)
        from++;
    while (to > at && to < text.n && ((unsigned char)text.p[to] & 0xc0) == 0x80)
        to--;
    assert(from <= at && at <= to);
    return str_slice(text, from, to);
}

static void agent_results_search(const struct kept_result *r, str query, size_t from,
                                 struct buf *out)
{
    size_t at = from, end, found = 0, next = STR_NONE;

    while ((at = agent_results_find(r->text, query, at)) != STR_NONE) {
        str line = agent_results_line(r->text, at);

        if (found == FOUND_MAX || out->n + line.n + 64 > OUTPUT_MAX) {
            next = at;
            break;
        }
        buf_printf(out, "byte %zu: " STR_FMT "\n", at, STR_ARG(line));
        found++;
        /* One match for each line; one that begins with a line break is after its line. */
        end = (size_t)(line.p + line.n - r->text.p);
        at = end > at ? end : at + 1;
    }
    if (!found)
        buf_printf(out,
                   "\"" STR_FMT "\" is not in result %u from byte %zu on.\n",
                   STR_ARG(query),
                   r->number,
                   from);
    if (next != STR_NONE)
        buf_printf(out, "There is more: go on with \"from\": %zu.\n", next);
}

static void agent_results_read(const struct kept_result *r, size_t from, struct buf *out)
{
    str rest = str_slice(r->text, from, r->text.n), part;

    while (rest.n && ((unsigned char)rest.p[0] & 0xc0) == 0x80)
        rest = str_slice(rest, 1, rest.n);
    part = utf8_cut_size(rest, OUTPUT_MAX - 256);
    buf_printf(out,
               "bytes %zu to %zu of %zu:\n" STR_FMT "\n",
               from,
               (size_t)(part.p + part.n - r->text.p),
               r->text.n,
               STR_ARG(part));
}

static const struct kept_result *agent_results_at(const struct agent_results *k, int64_t number)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->at[i].number == number)
            return &k->at[i];
    return NULL;
}

static bool agent_results_missing(const struct agent_results *k, int64_t number, struct err *e)
{
    if (!k->n)
        return err_input(e, "no result was large enough to be kept: all were shown whole");
    return err_input(e,
                     "there is no result %lld: those that are kept are %u to %u",
                     (long long)number,
                     k->at[0].number,
                     k->last);
}

static bool agent_results_run(void *ctx, const struct tool_call *call, struct buf *out,
                              struct err *e)
{
    struct agent_results *k = ctx;
    const struct kept_result *r;
    int64_t number = 0, from = 0;
    str query = STR("");
    struct json doc;
    struct arena a;
    bool ok;

    arena_init(&a, 65536 + call->arguments.n);
    ok = json_open(&doc, call->arguments, e) &&
         json_i64(&doc, json_find(&doc, json_root(&doc), STR("result")), &number);
    from = json_get_i64(&doc, json_root(&doc), "from", 0);
    (void)!json_text(&doc, json_find(&doc, json_root(&doc), STR("query")), &a, &query);
    pthread_mutex_lock(&k->lock);
    r = ok ? agent_results_at(k, number) : NULL;
    if (!r)
        ok = agent_results_missing(k, number, e);
    else if (query.n)
        agent_results_search(r, str_slice(query, 0, QUERY_MAX), (size_t)from, out);
    else
        agent_results_read(r, (size_t)from, out);
    pthread_mutex_unlock(&k->lock);
    json_release(&doc);
    arena_release(&a);
    return ok;
}

bool agent_results_add_tool(struct agent_results *k, struct toolbox *box, struct err *e)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"result\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"the number of the "
        "result\"},"
        "\"query\":{\"type\":\"string\",\"description\":\"text to find, in any case\"},"
        "\"from\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"the byte to begin at\"}},"
        "\"required\":[\"result\"],\"additionalProperties\":false}";

    return toolbox_add(
        box,
        &(struct tool){.name = STR(RESULT_SEARCH),
                       .description = STR("Searches a result that was too large to be shown whole: "
                                          "gives the lines with the query. Without a query it "
                                          "gives the text from a byte on."),
                       .schema = str_c(schema),
                       .flags = TOOL_READ_ONLY | TOOL_PURE,
                       .run = agent_results_run,
                       .ctx = k},
        e);
}
