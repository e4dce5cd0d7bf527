/* Verification detects changed texts in blocks, changed rows of calls and changed hourly sums; and
 * it accepts the log of a store without blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/rand.h"
#include "store/audit_bytes.h"
#include "store/block.h"
#include "store/call_segments.h"
#include "store/usage.h"
#include "store_help.h"

#include <unistd.h>

#define BLOCK_CALLS 80u

static char noise[16000];

static void make_noise(void)
{
    struct rand r;

    rand_init(&r, 7);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)('a' + rand_below(&r, 26));
}

static void put_noise(struct store *s, unsigned i, int64_t started_ms)
{
    struct store_call row = store_call_none;
    char id[32], session[32], asked[64], tools[64];

    snprintf(id, sizeof id, "n-%02u", i);
    snprintf(session, sizeof session, "s-%u", i % 7);
    snprintf(asked, sizeof asked, "question %u\nand more of it", i);
    snprintf(tools, sizeof tools, "[\"tool-%u\"]", i % 3);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = STR("alice");
    row.model = STR("m");
    row.provider = STR("p");
    row.dialect = STR("openai");
    row.level = STR("high");
    row.cap_tokens = 100;
    row.status = i % 9 == 8 ? 500 : 200;
    row.error_code = row.error_message = row.status == 500 ? str_c(id) : STR("");
    row.started_ms = started_ms;
    row.ended_ms = started_ms + 1000;
    row.input_tokens = i;
    row.output_tokens = 3;
    row.reasoning_tokens = i % 110;
    row.cache_read_tokens = 1;
    row.cost_usd = 0.01 * i;
    row.has_reasoning = true;
    row.complete = true;
    row.cut = i % 4 == 0 ? STR("cap") : STR("");
    row.asked = str_c(asked);
    row.request = (str){noise, 2000 + 26 * i};
    row.reasoning = (str){noise + i, 10000};
    row.answer = i % 5 == 0 ? STR("") : str_c(asked);
    row.decision = i % 2 ? STR("[DIRECT] because") : STR("[TOOL_CALL] tool: because");
    row.tools = str_c(tools);
    store_call_put(s, &row, NULL);
}

static const char *const kept[] = {"llm_interactions",
                                   "call_blocks",
                                   "call_texts",
                                   "call_tools",
                                   "usage_hours",
                                   "usage_slots",
                                   "store_counters"};

/* A closed store with calls in two packed blocks and an open one; session s-6 is erased. */
static void make_blocks(struct place *p)
{
    struct store_receipt receipt;
    char sql[100];
    struct store *s;
    struct err e;

    make_noise();
    place_init(p);
    s = open_store(p);
    for (unsigned i = 0; i < BLOCK_CALLS; i++)
        put_noise(s, i, 1000 + i);
    settle(s);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("s-6"), STR("op"), &receipt, &e), "%s", e.text);
    store_close(s);
    CHECK(ask(p, "SELECT count(*) FROM call_blocks") >= 2);
    CHECK(ask(p, "SELECT count(*) FROM call_texts") >= 2);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE kept_%s AS SELECT * FROM %s", kept[i], kept[i]);
        do_sql(p, sql);
    }
}

/* Checks that verification reports the change, then restores the table, or all tables if NULL. */
static void check_why(struct place *p, const char *table, const char *what, const char *why)
{
    struct db *db = open_reader(p);
    struct audit_report r = verify_by(p, db);
    char sql[200];

    CHECK_F(!r.ok, "%s", what);
    CHECK_F(strstr(r.why, why), "%s: %s", what, r.why);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const char *t = kept[i];

        snprintf(sql, sizeof sql, "DELETE FROM %s; INSERT INTO %s SELECT * FROM kept_%s", t, t, t);
        if (!table || strcmp(table, t) == 0)
            do_sql(p, sql);
    }
    r = verify_by(p, db);
    CHECK_F(r.ok, "after %s: %s", what, r.why);
    db_close(db);
}

static size_t swap_entries(str *entries, size_t n)
{
    str first = entries[0];

    entries[0] = entries[1];
    entries[1] = first;
    return n;
}

static str changed_entry(str entry, enum block_text which, str text)
{
    static char bytes[100000];
    struct block_texts t;
    struct arena a;
    struct buf out;
    struct err e;

    arena_init(&a, 1 << 20);
    CHECK(block_entry_get(entry, &a, &t, &e));
    t.text[which] = text;
    buf_init(&out, sizeof bytes);
    block_entry_put(&t, &out);
    memcpy(bytes, out.p, out.n);
    entry = (str){bytes, out.n};
    buf_release(&out);
    arena_release(&a);
    return entry;
}

static size_t replace_reasoning(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_REASONING, STR("something else"));
    return n;
}

static size_t replace_decision(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_DECISION, STR("[TOOL_CALL] not so"));
    return n;
}

static size_t drop_answer(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_ANSWER, STR(""));
    return n;
}

static size_t drop_entry(str *entries, size_t n)
{
    entries[2] = STR("");
    return n;
}

static size_t break_entry(str *entries, size_t n)
{
    entries[2] = STR("\xff not an entry");
    return n;
}

/* Fills the place of n-06, which was erased. */
static size_t fill_erased(str *entries, size_t n)
{
    CHECK_INT(entries[6].n, 0);
    entries[6] = entries[5];
    return n;
}

static size_t append_entry(str *entries, size_t n)
{
    entries[n] = entries[0];
    return n + 1;
}

TEST(a_text_in_a_block_cannot_be_changed)
{
    static const struct {
        const char *what;
        size_t (*edit)(str *entries, size_t n);
        const char *why;
    } edits[] = {
        {"two entries swapped", swap_entries, "a call does not have the texts that its row says"},
        {"reasoning replaced", replace_reasoning, "a call is not as it was stored"},
        {"decision replaced", replace_decision, "not of the kind that its row says: n-03"},
        {"answer dropped", drop_answer, "does not have the texts that its row says: n-03"},
        {"entry dropped", drop_entry, "does not have the texts that its row says: n-02"},
        {"entry damaged", break_entry, "the texts of a call cannot be read: n-02"},
        {"erased text put back", fill_erased, "texts that no call has: block 1"},
        {"entry added", append_entry, "texts that no call has: block 1"},
    };
    struct audit_report r;
    struct place p;

    make_blocks(&p);
    r = verify(&p);
    CHECK_F(r.ok, "%lld: %s", (long long)r.bad_seq, r.why);
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        block_change(&p, 1, edits[i].edit);
        check_why(&p, NULL, edits[i].what, edits[i].why);
    }
    place_release(&p);
}

#define SWAP_BLOCKS                                                                                \
    "CREATE TABLE two AS SELECT * FROM call_blocks; UPDATE call_blocks SET texts = (SELECT"        \
    " t.texts FROM two t WHERE t.block = 3 - call_blocks.block), calls = (SELECT t.calls FROM two" \
    " t WHERE t.block = 3 - call_blocks.block), raw_size = (SELECT t.raw_size FROM two t WHERE"    \
    " t.block = 3 - call_blocks.block) WHERE block IN (1, 2); DROP TABLE two"

static const struct {
    const char *sql, *postgres, *why;
} crimes[] = {
    {SWAP_BLOCKS, NULL, "call"},
    {"UPDATE call_blocks SET block = -1 WHERE block = 1; UPDATE call_blocks SET block = 1 WHERE"
     " block = 2; UPDATE call_blocks SET block = 2 WHERE block = -1",
     NULL,
     "call"},
    {"DELETE FROM call_blocks WHERE block = 2", NULL, "texts that its row says"},
    {"UPDATE call_blocks SET texts = substr(texts, 1, 100) WHERE block = 1",
     NULL,
     "the texts of a call cannot be read: n-00: block 1"},
    {"INSERT INTO call_blocks SELECT 999, 999, 999, calls, raw_size, texts FROM call_blocks"
     " WHERE block = 1; UPDATE store_counters SET block = 999",
     NULL,
     "a block has texts that no call has: block 999"},
    {"INSERT INTO call_blocks VALUES (999, 999, 999, 1, 1, x'00'); UPDATE store_counters SET"
     " block = 999",
     "INSERT INTO call_blocks VALUES (999, 999, 999, 1, 1, '\\x00'); UPDATE store_counters SET"
     " block = 999",
     "a block cannot be read: block 999"},
    {"UPDATE call_blocks SET calls = calls + 1 WHERE block = 1", NULL, "not of the size"},
    {"UPDATE call_blocks SET raw_size = 7 WHERE block = 1", NULL, "not of the size"},
    {"UPDATE call_blocks SET first_n = 2 WHERE block = 1", NULL, "texts that no call has"},
    {"UPDATE call_blocks SET last_n = 1000 WHERE block = 1", NULL, "does not follow"},
    {"DELETE FROM call_texts WHERE block_n = (SELECT max(block_n) FROM call_texts)",
     NULL,
     "a call does not have the texts that its row says"},
    {"UPDATE call_texts SET block_n = 999 WHERE block_n = (SELECT max(block_n) FROM"
     " call_texts)",
     NULL,
     "a call does not have the texts that its row says"},
    {"INSERT INTO call_texts SELECT block, 999, 999, texts FROM call_texts WHERE block_n = 0",
     NULL,
     "texts"},
    {"INSERT INTO call_texts SELECT 999, 0, 1, texts FROM call_texts WHERE block_n = 0",
     NULL,
     "texts"},
    {"INSERT INTO call_texts SELECT 1, 0, 1, texts FROM call_texts WHERE block_n = 0",
     NULL,
     "texts"},
    {"UPDATE llm_interactions SET block_n = 1 WHERE call_n = 1", NULL, "call"},
    {"UPDATE llm_interactions SET block_n = 9999 WHERE call_n = 1",
     NULL,
     "texts that its row says: n-00"},
    {"UPDATE llm_interactions SET block = 2 WHERE call_n = 1", NULL, "n-00"},
    {"UPDATE llm_interactions SET block = NULL WHERE call_n = 1", NULL, "has no block: n-00"},
    {"UPDATE llm_interactions SET texts = texts + 2 WHERE call_n = 1",
     NULL,
     "texts that its row says: n-00"},
    {"UPDATE llm_interactions SET decision_kind = 'DIRECT' WHERE call_n = 1",
     NULL,
     "of the kind that its row says: n-00"},
    {"UPDATE llm_interactions SET decision_kind = NULL WHERE call_n = 1",
     NULL,
     "of the kind that its row says: n-00"},
    {"UPDATE llm_interactions SET call_n = 7 WHERE call_n = 1",
     NULL,
     "missing and was not erased: its number is: 1"},
    {"UPDATE llm_interactions SET has_reasoning = 2 WHERE call_n = 1",
     NULL,
     "not as it was stored: n-00"},
    {"UPDATE llm_interactions SET stop = '' WHERE call_n = 1", NULL, "not as it was stored: n-00"},
    {"DELETE FROM llm_interactions WHERE call_n = 1", NULL, "its number is: 1"},
    {"INSERT INTO llm_interactions (call_n, interaction_id) VALUES (7, 'again')",
     NULL,
     "a call that was erased is there: again"},
    {"INSERT INTO llm_interactions (call_n, interaction_id) VALUES (999, 'forged')",
     NULL,
     "the log does not know"},
    {"UPDATE call_tools SET tool = 'other' WHERE call_n = 1", NULL, "tool-0 1"},
    {"INSERT INTO call_tools VALUES ('other', 1)", NULL, "no call called"},
    {"UPDATE store_counters SET call_n = 79", NULL, "store_counters is lower"},
    {"UPDATE store_counters SET block = 1", NULL, "store_counters is lower"},
    {"DELETE FROM store_counters", NULL, "store_counters is lower"},
    {"UPDATE store_counters SET tree_from = 40", NULL, "not as it was stored"},
};

TEST(blocks_and_the_places_of_calls_cannot_be_changed)
{
    struct place p;

    make_blocks(&p);
    for (size_t i = 0; i < COUNT_OF(crimes); i++) {
        const char *sql = p.postgres && crimes[i].postgres ? crimes[i].postgres : crimes[i].sql;

        do_sql(&p, sql);
        check_why(&p, NULL, sql, crimes[i].why);
    }
    place_release(&p);
}

/* Changes one column of a table and checks the report. */
static void check_column(struct place *p, const char *table, str column, bool text, const char *why)
{
    char sql[300];

    snprintf(sql,
             sizeof sql,
             text ? "UPDATE %s SET " STR_FMT " = coalesce(" STR_FMT ", '') || 'x'"
                  : "UPDATE %s SET " STR_FMT " = coalesce(" STR_FMT ", 0) + 1",
             table,
             STR_ARG(column),
             STR_ARG(column));
    do_sql(p, sql);
    check_why(p, table, sql, why);
}

TEST(no_column_of_a_call_can_be_changed)
{
    struct place p;

    make_blocks(&p);
    for (size_t i = 0; i < row_field_count; i++)
        if (!row_fields[i].text)
            check_column(&p,
                         "llm_interactions",
                         str_c(row_fields[i].column),
                         row_fields[i].kind == ROW_TEXT,
                         "not as it was stored");
    place_release(&p);
}

/* ---- hourly sums ---- */

TEST(the_sums_of_an_hour_are_those_of_its_calls)
{
    str names = STR(USAGE_WHICH ", " USAGE_SUMS);
    struct place p;

    make_blocks(&p);
    for (unsigned i = 0; names.n > 0; i++)
        check_column(&p,
                     "usage_hours",
                     usage_next_name(&names),
                     i >= 1 && i <= 4, /* model, provider, key_name, level */
                     "the sums of an hour are not those of its calls: usage_hours");
    names = STR(USAGE_SLOT_WHICH ", " USAGE_SLOT_SUMS);
    for (unsigned i = 0; names.n > 0; i++)
        check_column(&p,
                     "usage_slots",
                     usage_next_name(&names),
                     i >= 2 && i <= 4,
                     "the sums of an hour are not those of its calls: usage_slots");
    do_sql(&p, "UPDATE usage_hours SET cost_usd = cost_usd * 1.000001");
    check_why(&p, NULL, "a small change of the cost", "the sums of an hour");
    do_sql(&p, "DELETE FROM usage_hours");
    check_why(&p, NULL, "no sums", "the sums of an hour");
    do_sql(&p,
           "INSERT INTO usage_hours SELECT hour + 1, model, provider, key_name, level, cap_tokens,"
           " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM usage_hours");
    check_why(&p, NULL, "an empty hour", "the sums of an hour");
    place_release(&p);
}

TEST(blocks_hold_after_erasure_and_after_retention)
{
    struct store_receipt receipt;
    struct store_options o;
    struct audit_report r;
    struct place p;
    struct store *s;
    struct err e;

    make_blocks(&p);
    s = open_store(&p);
    for (unsigned i = 0; i < 6; i++) {
        char name[16];

        snprintf(name, sizeof name, "s-%u", i);
        CHECK_F(
            store_erase(s, STORE_ERASE_SESSION, str_c(name), STR(""), &receipt, &e), "%s", e.text);
        put_noise(s, BLOCK_CALLS + i, 5000);
        settle(s);
        r = verify(&p);
        CHECK_F(r.ok, "%s: %s", name, r.why);
    }
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.erased >= BLOCK_CALLS, "%lld: %s", (long long)r.erased, r.why);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_blocks"), 0);
    o = options(&p);
    o.retention_age_ms = 1000;
    o.retention_every_ms = 20;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (int i = 0; i < 2400 && ask(&p, "SELECT count(*) FROM llm_interactions"); i++)
        usleep(20000);
    for (unsigned i = 0; i < 30; i++)
        put_noise(s, 200 + i, clock_wall_ms(&clock_real));
    settle(s);
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.rows == 30, "%lld: %s", (long long)r.rows, r.why);
    CHECK_INT(ask(&p, "SELECT sum(calls) FROM usage_hours"), 30);
    place_release(&p);
}

/* ---- stores from before BLAKE2bp ---- */

TEST(calls_of_an_earlier_version_keep_their_digests)
{
    struct store_receipt receipt;
    struct audit_report r;
    struct place p;
    struct store *s;
    struct err e;

    make_noise();
    place_init(&p);
    store_close(open_store(&p));
    do_sql(&p, "UPDATE store_counters SET tree_from = 31");
    s = open_store(&p);
    for (unsigned i = 0; i < 60; i++)
        put_noise(s, i, 1000 + i);
    settle(s);
    r = verify(&p);
    CHECK_F(r.ok && r.rows == 60, "%lld: %s", (long long)r.rows, r.why);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("s-1"), STR("op"), &receipt, &e), "%s", e.text);
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.erased > 2, "%lld: %s", (long long)r.erased, r.why);
    CHECK_INT(
        ask(&p, "SELECT count(*) FROM audit_log WHERE action = 'erased' AND subject = 'n-01'"), 1);
    do_sql(&p, "UPDATE store_counters SET tree_from = 1");
    CHECK(!verify(&p).ok);
    place_release(&p);
}

/* ---- stores without blocks ---- */

#define OLD_CALLS 30u

static void old_call(unsigned i, struct store_call *row)
{
    static char id[32];

    snprintf(id, sizeof id, "o-%02u", i);
    *row = store_call_none;
    row->id = row->session_id = str_c(id);
    row->started_ms = row->ended_ms = 1000 + i;
    row->status = 200;
    row->request = STR("{\"messages\":[]}");
    row->reasoning = (str){noise, 12000};
    row->answer = STR("an answer");
    row->segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":9,\"tokens\":2},"
                        "{\"kind\":\"answer\",\"at\":3,\"size\":6,\"exact\":true}]");
}

static bool add_old_segment(void *ctx, const struct db_value *columns, size_t n)
{
    audit_add_values(ctx, columns + 1, n - 1);
    return true;
}

/* The digest of an entry "record" in that version: over the row and its segments; "adopted":
 * without segments. */
static void old_digest(const struct store_call *row, bool adopted, str key, uint8_t *out)
{
    struct call_segments segments;
    struct arena a;
    struct buf b;

    arena_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    call_segments_init(&segments);
    audit_add_row(&b, &row_calls, row);
    if (!adopted)
        call_segments_read(&segments, row, &a, (struct db_rows){add_old_segment, &b});
    audit_digest(key, buf_str(&b), out);
    call_segments_release(&segments);
    buf_release(&b);
    arena_release(&a);
}

/* The audit log of that version: one entry "record" per call. */
static void old_log(struct place *p)
{
    uint8_t head[SHA256_SIZE] = {0}, hash[SHA256_SIZE], digest[SHA256_SIZE];
    char key[SHA256_SIZE] = "the key of an old store";
    struct db_value args[9] = {db_blob((str){key, sizeof key})};
    struct db *db;
    struct err e;

    CHECK_F(db_open(str_c(p->url), DB_WRITE, &db, &e), "%s", e.text);
    CHECK(db_run(db, "INSERT INTO store_keys (name, value) VALUES ('audit', $1)", args, 1, &e));
    for (unsigned i = 0; i < OLD_CALLS; i++) {
        bool adopted = i % 3 == 0;
        struct audit_entry entry = {.seq = i + 1,
                                    .time_us = 1,
                                    .actor = STR(""),
                                    .action = STR("record"),
                                    .detail = adopted ? STR("adopted") : STR(""),
                                    .digest = {(const char *)digest, sizeof digest}};
        struct store_call row;

        old_call(i, &row);
        old_digest(&row, adopted, (str){key, sizeof key}, digest);
        entry.subject = row.id;
        audit_hash(&entry, head, hash);
        args[0] = db_int(entry.seq);
        args[1] = db_text(entry.subject);
        args[2] = adopted ? db_text(entry.detail) : db_null();
        args[3] = db_blob(entry.digest);
        args[4] = db_blob((str){(const char *)head, sizeof head});
        args[5] = db_blob((str){(const char *)hash, sizeof hash});
        CHECK_F(db_run(db,
                       "INSERT INTO audit_log (seq, time_us, action, subject, detail, digest, prev,"
                       " hash) VALUES ($1, 1, 'record', $2, $3, $4, $5, $6)",
                       args,
                       6,
                       &e),
                "%s",
                e.text);
        memcpy(head, hash, sizeof head);
    }
    db_close(db);
}

static void check_old(struct place *p, int64_t rows, int64_t erased)
{
    struct audit_report r = verify(p);

    CHECK_F(r.ok, "%lld: %s", (long long)r.bad_seq, r.why);
    CHECK_INT(r.rows, rows);
    CHECK_INT(r.erased, erased);
}

TEST(the_log_of_a_store_of_before_blocks_holds)
{
    struct store_receipt receipt;
    struct audit_report r;
    struct store_call row;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    make_noise();
    old_store(&p);
    for (unsigned i = 0; i < OLD_CALLS; i++) {
        old_call(i, &row);
        old_store_put(&p, &row);
    }
    do_sql(&p,
           "INSERT INTO usage_hours VALUES (0, '', '', '', '', 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
           " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    old_log(&p);
    s = open_store(&p);
    settle(s);
    check_old(&p, OLD_CALLS, 0); /* before or after they are moved */
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("o-04"), STR(""), &receipt, &e), "%s", e.text);
    for (int i = 0;
         i < 2400 && ask(&p, "SELECT count(*) FROM llm_interactions WHERE block IS NULL");
         i++)
        usleep(20000);
    put_noise(s, 0, 5000);
    settle(s);
    check_old(&p, OLD_CALLS, 1);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("o-05"), STR(""), &receipt, &e), "%s", e.text);
    store_close(s);
    check_old(&p, OLD_CALLS - 1, 2);
    block_change(&p, 1, replace_reasoning);
    r = verify(&p);
    CHECK_F(!r.ok && strstr(r.why, "a row is not as it was stored: o-03"), "%s", r.why);
    place_release(&p);
}

TEST_MAIN(T(a_text_in_a_block_cannot_be_changed),
          T(blocks_and_the_places_of_calls_cannot_be_changed),
          T(no_column_of_a_call_can_be_changed), T(the_sums_of_an_hour_are_those_of_its_calls),
          T(blocks_hold_after_erasure_and_after_retention),
          T(calls_of_an_earlier_version_keep_their_digests),
          T(the_log_of_a_store_of_before_blocks_holds))
