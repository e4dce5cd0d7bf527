/* fts.c - the index of a document. See fts.h.
 *
 * A passage is a stretch of whole sentences of about PASSAGE_SIZE bytes; the first one of a node
 * has its title, path and summary too. So a long section is not drowned by its length, and the
 * score of a node is that of its passages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fts.h"

#include "base/utf8.h"

#include <pthread.h>
#include <sqlite3.h>

#define PASSAGE_SIZE 1500

struct policy_index {
    sqlite3 *db;
    sqlite3_stmt *by_passage, *by_sentence;
    pthread_mutex_t lock;
    struct arena arena;
    struct policy_sentence *sentences; /* of all nodes, in order */
    uint32_t *first;                   /* of each node, and one more for the end */
    uint32_t *passages;                /* the node of each, from rowid 1 */
    size_t passage_count, passage_cap;
};

static const char tables[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;"
    "CREATE VIRTUAL TABLE passage USING fts5(title, title_path, summary, text, "
    "tokenize='porter unicode61');"
    "CREATE VIRTUAL TABLE sentence USING fts5(text, tokenize='porter unicode61');";

static bool policy_fts_failed(struct policy_index *x, const char *what, struct err *e)
{
    return err_set(e, ERR_SYSTEM, "policy index: %s: %s", what, sqlite3_errmsg(x->db));
}

static void bind_text(sqlite3_stmt *s, int i, str text)
{
    sqlite3_bind_text(s, i, text.p, (int)text.n, SQLITE_STATIC);
}

static bool step_insert(struct policy_index *x, sqlite3_stmt *s, struct err *e)
{
    int rc = sqlite3_step(s);

    sqlite3_reset(s);
    return rc == SQLITE_DONE || policy_fts_failed(x, "insert", e);
}

static bool add_passage(struct policy_index *x, sqlite3_stmt *s, const struct policy_node *n,
                        uint32_t node, str text, bool first, struct err *e)
{
    if (x->passage_count == x->passage_cap) {
        x->passage_cap = x->passage_cap ? 2 * x->passage_cap : 64;
        x->passages = base_realloc(x->passages, x->passage_cap * sizeof x->passages[0]);
    }
    x->passages[x->passage_count++] = node;
    bind_text(s, 1, first ? n->title : STR(""));
    bind_text(s, 2, first ? n->title_path : STR(""));
    bind_text(s, 3, first ? n->summary : STR(""));
    bind_text(s, 4, text);
    sqlite3_bind_int64(s, 5, (sqlite3_int64)x->passage_count);
    return step_insert(x, s, e);
}

static bool add_passages(struct policy_index *x, sqlite3_stmt *s, const struct policy_node *n,
                         uint32_t node, struct err *e)
{
    const struct policy_sentence *all = x->sentences + x->first[node];
    size_t count = x->first[node + 1] - x->first[node], from = 0;
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && all[i + 1].to - from <= PASSAGE_SIZE)
            continue;
        if (!add_passage(x, s, n, node, str_slice(n->text, from, all[i].to), first, e))
            return false;
        first = false;
        from = all[i].to;
    }
    return !first || add_passage(x, s, n, node, n->text, true, e);
}

static bool add_sentences(struct policy_index *x, sqlite3_stmt *s, const struct policy_node *n,
                          uint32_t node, struct err *e)
{
    for (uint32_t i = x->first[node]; i < x->first[node + 1]; i++) {
        bind_text(s, 1, str_slice(n->text, x->sentences[i].from, x->sentences[i].to));
        sqlite3_bind_int64(s, 2, (sqlite3_int64)i + 1);
        if (!step_insert(x, s, e))
            return false;
    }
    return true;
}

/* Concatenates all sentences; one pass per node, one copy. */
static void policy_fts_gather(struct policy_index *x, const struct policy_tree *t)
{
    size_t cap = 0, n = 0;
    struct policy_sentence *all = base_alloc(sizeof *all), *some;

    x->first = arena_zero(&x->arena, t->node_count + 1, sizeof x->first[0]);
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct arena scratch;
        size_t more;

        arena_init(&scratch, POLICY_ARENA_MAX);
        more = policy_sentences(t->nodes[i].text, &scratch, &some);
        if (n + more > cap) {
            cap = 2 * (n + more);
            all = base_realloc(all, cap * sizeof all[0]);
        }
        if (more > 0)
            memcpy(all + n, some, more * sizeof all[0]);
        x->first[i] = (uint32_t)n;
        n += more;
        arena_release(&scratch);
    }
    x->first[t->node_count] = (uint32_t)n;
    x->sentences = all;
}

static bool policy_fts_fill(struct policy_index *x, const struct policy_tree *t, struct err *e)
{
    sqlite3_stmt *passage = NULL, *sentence = NULL;
    bool ok = false;

    if (sqlite3_exec(x->db, tables, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(x->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(x->db,
                           "INSERT INTO passage(title, title_path, summary, text, rowid) "
                           "VALUES(?1, ?2, ?3, ?4, ?5)",
                           -1,
                           &passage,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(
            x->db, "INSERT INTO sentence(text, rowid) VALUES(?1, ?2)", -1, &sentence, NULL) !=
            SQLITE_OK) {
        policy_fts_failed(x, "tables", e);
        goto out;
    }
    for (uint32_t i = 0; i < t->node_count; i++)
        if (!add_passages(x, passage, &t->nodes[i], i, e) ||
            !add_sentences(x, sentence, &t->nodes[i], i, e))
            goto out;
    ok = sqlite3_exec(x->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ||
         policy_fts_failed(x, "commit", e);
out:
    sqlite3_finalize(passage);
    sqlite3_finalize(sentence);
    return ok;
}

static bool policy_fts_prepare(struct policy_index *x, struct err *e)
{
    if (sqlite3_prepare_v2(x->db,
                           "SELECT rowid, -bm25(passage, 6.0, 2.0, 1.5, 1.0) AS score FROM passage "
                           "WHERE passage MATCH ?1 ORDER BY score DESC, rowid LIMIT ?2",
                           -1,
                           &x->by_passage,
                           NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(x->db,
                           "SELECT rowid, -bm25(sentence) AS score FROM sentence "
                           "WHERE sentence MATCH ?1 AND rowid BETWEEN ?3 AND ?4 "
                           "ORDER BY score DESC, rowid LIMIT ?2",
                           -1,
                           &x->by_sentence,
                           NULL) == SQLITE_OK)
        return true;
    return policy_fts_failed(x, "prepare", e);
}

bool fts_open(const struct policy_tree *t, struct policy_index **out, struct err *e)
{
    struct policy_index *x = base_alloc(sizeof *x);

    memset(x, 0, sizeof *x);
    arena_init(&x->arena, POLICY_ARENA_MAX);
    pthread_mutex_init(&x->lock, NULL);
    if (sqlite3_open_v2(":memory:",
                        &x->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        policy_fts_failed(x, "open", e);
        fts_close(x);
        return false;
    }
    policy_fts_gather(x, t);
    if (!policy_fts_fill(x, t, e) || !policy_fts_prepare(x, e)) {
        fts_close(x);
        return false;
    }
    *out = x;
    return true;
}

void fts_close(struct policy_index *x)
{
    if (!x)
        return;
    sqlite3_finalize(x->by_passage);
    sqlite3_finalize(x->by_sentence);
    sqlite3_close(x->db);
    pthread_mutex_destroy(&x->lock);
    arena_release(&x->arena);
    free(x->sentences);
    free(x->passages);
    free(x);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80);
}

static bool policy_fts_has_word(const str *words, size_t n, str w)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(words[i], w))
            return true;
    return false;
}

str fts_expression(str query, struct arena *a)
{
    str words[FTS_WORDS_MAX], out;
    size_t n = 0, valid;
    struct buf b;

    buf_init(&b, 8 * query.n + 16);
    for (size_t i = 0; i < query.n && n < FTS_WORDS_MAX;) {
        size_t to = i;
        str w;

        while (to < query.n && in_word(query.p[to]))
            to++;
        w = utf8_cut_size(str_slice(query, i, to), 200);
        i = to + (to == i);
        valid = utf8_valid_size(w);
        if (w.n == 0 || valid < w.n || policy_fts_has_word(words, n, w))
            continue;
        words[n++] = w;
        buf_printf(&b, "%s\"" STR_FMT "\"", n > 1 ? " OR " : "", STR_ARG(w));
    }
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

/* Rows of one statement, which is bound. */
static bool policy_fts_read_rows(struct policy_index *x, sqlite3_stmt *s, struct fts_row *rows,
                                 size_t max, size_t *n, struct err *e)
{
    int rc;

    *n = 0;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && *n < max)
        rows[(*n)++] =
            (struct fts_row){(uint32_t)sqlite3_column_int64(s, 0), sqlite3_column_double(s, 1)};
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        policy_fts_failed(x, "search", e);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

bool fts_nodes(struct policy_index *x, str expression, struct fts_row *rows, size_t max, size_t *n,
               struct err *e)
{
    bool ok;

    *n = 0;
    if (expression.n == 0)
        return true;
    pthread_mutex_lock(&x->lock);
    bind_text(x->by_passage, 1, expression);
    sqlite3_bind_int64(x->by_passage, 2, (sqlite3_int64)max);
    ok = policy_fts_read_rows(x, x->by_passage, rows, max, n, e);
    pthread_mutex_unlock(&x->lock);
    for (size_t i = 0; i < *n; i++)
        rows[i].at = x->passages[rows[i].at - 1];
    return ok;
}

bool fts_sentences(struct policy_index *x, uint32_t node, str expression, struct fts_row *rows,
                   size_t max, size_t *n, struct err *e)
{
    bool ok;

    *n = 0;
    if (expression.n == 0)
        return true;
    pthread_mutex_lock(&x->lock);
    bind_text(x->by_sentence, 1, expression);
    sqlite3_bind_int64(x->by_sentence, 2, (sqlite3_int64)max);
    sqlite3_bind_int64(x->by_sentence, 3, (sqlite3_int64)x->first[node] + 1);
    sqlite3_bind_int64(x->by_sentence, 4, (sqlite3_int64)x->first[node + 1]);
    ok = policy_fts_read_rows(x, x->by_sentence, rows, max, n, e);
    pthread_mutex_unlock(&x->lock);
    for (size_t i = 0; i < *n; i++)
        rows[i].at -= x->first[node] + 1;
    return ok;
}

size_t fts_sentences_of(const struct policy_index *x, uint32_t node,
                        const struct policy_sentence **out)
{
    *out = x->sentences + x->first[node];
    return x->first[node + 1] - x->first[node];
}
