/* Queries of the record: search text is words, never syntax; a cursor that the store did not issue
 * is refused as input; an answer is JSON; a query string is decoded or refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/utf8.h"
#include "serve/params.h"
#include "store/query_build.h"
#include "store/store.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reader *reader; /* made once: to open a database takes longer than to ask it */

static void put_call(struct store *s, const char *id, const char *session, const char *asked)
{
    struct store_call row = store_call_none;

    row.id = str_c(id);
    row.session_id = str_c(session);
    row.started_ms = 1;
    row.ended_ms = 2;
    row.status = 200;
    row.complete = row.has_reasoning = true;
    row.asked = str_c(asked);
    row.reasoning = STR("because of a wall");
    row.answer = STR("the wind");
    row.decision = STR("[TOOL_CALL] look: because of a wall");
    row.tools = STR("[\"look\"]");
    store_call_put(s, &row, NULL);
}

static void open_once(void)
{
    char dir[] = "/tmp/query_fuzz.XXXXXX", url[64], command[64];
    struct query_filter filter = query_filter_none;
    struct query_page page = {10, 1, STR(""), STR("")};
    struct query_asker asker = {.key_name = STR("")};
    struct store_options o = {.durability = STORE_FAST};
    struct store *s;
    struct buf out;
    struct err e;

    if (reader)
        return;
    if (!mkdtemp(dir))
        abort();
    (void)snprintf(url, sizeof url, "sqlite:%s/record.db", dir);
    o.url = str_c(url);
    o.spool = STR("");
    if (!store_open(&o, &s, &e))
        abort();
    put_call(s, "c1", "s1", "one wall");
    put_call(s, "c2", "s2", "two walls");
    store_close(s);
    if (!reader_open(str_c(url), &reader, &e))
        abort();
    buf_init(&out, QUERY_OUT_MAX);
    if (!query_sessions(reader, &asker, &filter, &page, &out, &e))
        abort();
    assert(str_find(buf_str(&out), STR("two walls")) != STR_NONE);
    buf_reset(&out);
    if (!query_search(reader, &asker, STR("walls"), 10, &out, &e))
        abort();
    assert(str_find(buf_str(&out), STR("c2")) != STR_NONE);
    buf_release(&out);
    /* The files are unlinked once they are open. */
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        abort();
}

static void check_answer(bool ok, const struct buf *out, const struct err *e)
{
    struct json doc;
    struct err why;

    if (!ok) {
        if (e->code != ERR_INPUT)
            fprintf(stderr, "%s\n", e->text);
        assert(e->code == ERR_INPUT && e->text[0]);
        return;
    }
    json_init(&doc);
    ok = json_parse(&doc, buf_str(out), &why);
    assert(ok);
    json_release(&doc);
}

static void check_questions(struct arena *a, str text, unsigned how)
{
    static const char *const orders[] = {"", "-started_at_us", "started_at_us", "-cost_usd"};
    struct query_asker asker = {.key_name = STR(""), .hide_reasoning = how & 1, .now_us = 3000};
    struct query_filter filter = query_filter_none;
    struct query_page page = {10, 1, STR(""), str_c(orders[how >> 1 & 3])};
    struct buf out;
    struct err e;

    if (how & 8)
        page.cursor = text;
    else if (how & 16)
        page.cursor = cursor_make(a, page.sort, text, text);
    else if (how & 32)
        page.sort = text;
    else
        filter.search = text;
    buf_init(&out, QUERY_OUT_MAX);
    check_answer(query_sessions(reader, &asker, &filter, &page, &out, &e), &out, &e);
    buf_reset(&out);
    check_answer(query_decisions(reader, &asker, &filter, &page, &out, &e), &out, &e);
    buf_reset(&out);
    check_answer(query_search(reader, &asker, text, 10, &out, &e), &out, &e);
    buf_release(&out);
}

/* A cursor that the store issued reads back unchanged. */
static void check_cursor(struct arena *a, str text)
{
    size_t bar = str_find(text, STR("|"));
    str value = str_slice(text, 0, bar), id = str_slice(text, value.n, text.n), v, i;
    struct err e;
    bool ok;

    if (text.n > 1000 || !utf8_valid(text) || memchr(text.p, '\0', text.n))
        return; /* no id of a session */
    ok = cursor_read(a, cursor_make(a, STR("time"), value, id), STR("time"), &v, &i, &e);
    assert(ok && str_eq(v, value) && str_eq(i, id));
}

/* A decoded text survives encoding with %XX and decoding. */
static void check_params(struct arena *a, str text, bool query)
{
    struct buf b;
    str once, again;
    bool ok;

    if (!params_decode(a, text, query, &once))
        return;
    assert(once.n <= text.n && utf8_valid(once) && strlen(once.p) == once.n);
    buf_init(&b, 3 * once.n + 1);
    for (size_t i = 0; i < once.n; i++)
        buf_printf(&b, "%%%02X", (unsigned char)once.p[i]);
    ok = params_decode(a, buf_str(&b), query, &again);
    assert(ok && str_eq(once, again));
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    str text;

    open_once();
    if (size == 0)
        return 0;
    text = (str){(const char *)data + 1, size - 1};
    arena_init(&a, (size_t)1 << 24);
    check_cursor(&a, text);
    check_params(&a, text, data[0] & 1);
    check_questions(&a, text, data[0]);
    arena_release(&a);
    return 0;
}
