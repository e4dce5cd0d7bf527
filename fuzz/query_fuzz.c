/* Questions to the record: whatever is typed, it is words and never syntax; a cursor that was not
 * made here is refused as input; an answer is JSON. What stands behind a question mark is decoded
 * or refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/utf8.h"
#include "serve/params.h"
#include "store/db.h"
#include "store/query_build.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reader *reader; /* made once: to open a database takes longer than to ask it */

static void fill(struct db *db)
{
    static const char *const rows[] = {
        "INSERT INTO alert_sessions (session_id, status, started_at_us, title) VALUES "
        "('s1', 'completed', 1000, 'one wall'), ('s2', 'failed', 2000, 'two walls')",
        "INSERT INTO llm_interactions (interaction_id, session_id, started_ms, asked, answer) "
        "VALUES ('c1', 's1', 1, 'a wall', 'the wind'), ('c2', 's2', 2, 'a well', 'the rain')",
        "INSERT INTO decisions (decision_id, interaction_id, session_id, timestamp_us, kind, "
        "entry) VALUES (1, 'c1', 's1', 1000, 'TOOL_CALL', '[TOOL_CALL] look: because a wall')",
        "INSERT INTO interactions_text (rowid, asked, answer) VALUES (1, 'a wall', 'the wind')",
        "INSERT INTO decisions_text (rowid, entry) VALUES (1, '[TOOL_CALL] look: because a wall')",
    };
    struct err e;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        e.text[0] = '\0';
        if (!db_run(db, rows[i], NULL, 0, &e)) {
            fprintf(stderr, "%s: %s\n", rows[i], e.text);
            abort();
        }
    }
}

static void forget(const char *dir)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[64];

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        (void)snprintf(path, sizeof path, "%s/record.db%s", dir, ends[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

/* The files have no names any more once they are open. */
static void open_once(void)
{
    char dir[] = "/tmp/query_fuzz.XXXXXX", url[64];
    struct query_filter filter = query_filter_none;
    struct query_page page = {10, 1, STR(""), STR("")};
    struct query_asker asker = {.key_name = STR("")};
    struct buf out;
    struct db *db = NULL;
    struct err e;

    if (reader)
        return;
    if (!mkdtemp(dir))
        abort();
    (void)snprintf(url, sizeof url, "sqlite:%s/record.db", dir);
    if (!db_open(str_c(url), DB_WRITE, &db, &e))
        abort();
    fill(db);
    if (!reader_open(str_c(url), &reader, &e))
        abort();
    db_close(db);
    buf_init(&out, QUERY_OUT_MAX);
    if (!query_sessions(reader, &asker, &filter, &page, &out, &e))
        abort();
    assert(str_find(buf_str(&out), STR("two walls")) != STR_NONE);
    buf_release(&out);
    forget(dir);
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

/* What was made here is read as it was. */
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

/* What was decoded is the same when it is written with %XX and decoded again. */
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
