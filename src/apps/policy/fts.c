/* fts.c - the index of a document. See fts.h.
 *
 * A passage is a stretch of whole sentences of about PASSAGE_SIZE bytes; the first one of a node
 * has its title, path and summary too. So a long section is not drowned by its length, and the
 * score of a node is that of its passages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fts.h"

#include "base/ctype.h"
#include "base/utf8.h"
#include "store/db.h"

#include <pthread.h>

#define PASSAGE_SIZE 1500

struct policy_index {
    struct db *db;
    pthread_mutex_t lock;
    struct arena arena;
    struct policy_sentence *sentences; /* of all nodes, in order */
    uint32_t *first;                   /* of each node, and one more for the end */
    uint32_t *passages;                /* the node of each, from rowid 1 */
    size_t passage_count, passage_cap;
};

/* heading: the node if the passage is its first, else NULL. */
static bool fts_add_passage(struct policy_index *x, uint32_t node,
                            const struct policy_node *heading, str text, struct err *e)
{
    x->passages = base_grow(x->passages, x->passage_count, &x->passage_cap, sizeof x->passages[0]);
    assert(x->passage_count == 0 || x->passages[x->passage_count - 1] <= node);
    x->passages[x->passage_count++] = node;
    return db_run(x->db,
                  "INSERT INTO passage (title, title_path, summary, text, rowid)"
                  " VALUES ($1, $2, $3, $4, $5)",
                  DB_ARGS(db_text(heading ? heading->title : STR("")),
                          db_text(heading ? heading->title_path : STR("")),
                          db_text(heading ? heading->summary : STR("")),
                          db_text(text),
                          db_int((int64_t)x->passage_count)),
                  e);
}

static bool fts_add_passages(struct policy_index *x, const struct policy_node *n, uint32_t node,
                             struct err *e)
{
    const struct policy_sentence *all = x->sentences + x->first[node];
    size_t count = x->first[node + 1] - x->first[node], from = 0;
    const struct policy_node *heading = n;

    assert(x->first[node] <= x->first[node + 1]);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && all[i + 1].to - from <= PASSAGE_SIZE)
            continue;
        if (!fts_add_passage(x, node, heading, str_slice(n->text, from, all[i].to), e))
            return false;
        heading = NULL;
        from = all[i].to;
    }
    return !heading || fts_add_passage(x, node, heading, n->text, e);
}

static bool fts_add_sentences(struct policy_index *x, const struct policy_node *n, uint32_t node,
                              struct err *e)
{
    for (uint32_t i = x->first[node]; i < x->first[node + 1]; i++)
        if (!db_run(x->db,
                    "INSERT INTO sentence (text, rowid) VALUES ($1, $2)",
                    DB_ARGS(db_text(str_slice(n->text, x->sentences[i].from, x->sentences[i].to)),
                            db_int((int64_t)i + 1)),
                    e))
            return false;
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
    assert(n <= UINT32_MAX);
    x->first[t->node_count] = (uint32_t)n;
    x->sentences = all;
}

static bool policy_fts_fill(struct policy_index *x, const struct policy_tree *t, struct err *e)
{
    if (!db_run(x->db,
                "CREATE VIRTUAL TABLE passage USING fts5(title, title_path, summary, text,"
                " tokenize='porter unicode61')",
                DB_NO_ARGS,
                e) ||
        !db_run(x->db,
                "CREATE VIRTUAL TABLE sentence USING fts5(text, tokenize='porter unicode61')",
                DB_NO_ARGS,
                e) ||
        !db_begin(x->db, false, e))
        return false;
    for (uint32_t i = 0; i < t->node_count; i++)
        if (!fts_add_passages(x, &t->nodes[i], i, e) || !fts_add_sentences(x, &t->nodes[i], i, e))
            return false;
    return db_commit(x->db, e);
}

bool fts_open(const struct policy_tree *t, struct policy_index **out, struct err *e)
{
    struct policy_index *x = base_alloc(sizeof *x);

    memset(x, 0, sizeof *x);
    arena_init(&x->arena, POLICY_ARENA_MAX);
    pthread_mutex_init(&x->lock, NULL);
    policy_fts_gather(x, t);
    if (!db_open(STR("sqlite::memory:"), DB_NEW, &x->db, e) || !policy_fts_fill(x, t, e)) {
        fts_close(x);
        return err_prefix(e, "policy index: ");
    }
    *out = x;
    return true;
}

void fts_close(struct policy_index *x)
{
    if (!x)
        return;
    db_close(x->db);
    pthread_mutex_destroy(&x->lock);
    arena_release(&x->arena);
    free(x->sentences);
    free(x->passages);
    free(x);
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
    str words[FTS_WORDS_MAX];
    size_t n = 0, valid;
    struct buf b;

    buf_init(&b, 8 * query.n + 16);
    for (size_t i = 0; i < query.n && n < FTS_WORDS_MAX;) {
        size_t to = i;
        str w;

        while (to < query.n && char_in_word(query.p[to]))
            to++;
        w = utf8_cut_size(str_slice(query, i, to), 200);
        i = to + (to == i);
        valid = utf8_valid_size(w);
        if (w.n == 0 || valid < w.n || policy_fts_has_word(words, n, w))
            continue;
        words[n++] = w;
        buf_printf(&b, "%s\"" STR_FMT "\"", n > 1 ? " OR " : "", STR_ARG(w));
    }
    return arena_move_buf(a, &b);
}

static bool fts_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct fts_rows *r = ctx;

    assert(n == 2 && r->n < r->max);
    r->at[r->n++] = (struct fts_row){(uint32_t)c[0].i, c[1].d};
    return r->n < r->max;
}

static bool policy_fts_read_rows(struct policy_index *x, const char *sql,
                                 const struct db_value *args, size_t n, struct fts_rows *out,
                                 struct err *e)
{
    bool ok;

    out->n = 0;
    if (args[0].s.n == 0) /* the expression: no words, nothing found */
        return true;
    pthread_mutex_lock(&x->lock);
    ok = db_query(x->db, sql, args, n, (struct db_rows){fts_on_row, out}, e);
    pthread_mutex_unlock(&x->lock);
    return ok || err_prefix(e, "policy index: ");
}

bool fts_nodes(struct policy_index *x, str expression, struct fts_rows *out, struct err *e)
{
    if (!policy_fts_read_rows(x,
                              "SELECT rowid, -bm25(passage, 6.0, 2.0, 1.5, 1.0) AS score"
                              " FROM passage WHERE passage MATCH $1"
                              " ORDER BY score DESC, rowid LIMIT $2",
                              DB_ARGS(db_text(expression), db_int((int64_t)out->max)),
                              out,
                              e))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        assert(out->at[i].at >= 1 && out->at[i].at <= x->passage_count);
        out->at[i].at = x->passages[out->at[i].at - 1];
    }
    return true;
}

bool fts_sentences(struct policy_index *x, uint32_t node, str expression, struct fts_rows *out,
                   struct err *e)
{
    uint32_t first = x->first[node];

    if (!policy_fts_read_rows(x,
                              "SELECT rowid, -bm25(sentence) AS score FROM sentence"
                              " WHERE sentence MATCH $1 AND rowid BETWEEN $3 AND $4"
                              " ORDER BY score DESC, rowid LIMIT $2",
                              DB_ARGS(db_text(expression),
                                      db_int((int64_t)out->max),
                                      db_int((int64_t)first + 1),
                                      db_int(x->first[node + 1])),
                              out,
                              e))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        assert(out->at[i].at > first && out->at[i].at <= x->first[node + 1]);
        out->at[i].at -= first + 1;
    }
    return true;
}

size_t fts_sentences_of(const struct policy_index *x, uint32_t node,
                        const struct policy_sentence **out)
{
    assert(x->first[node] <= x->first[node + 1]);
    *out = x->sentences + x->first[node];
    return x->first[node + 1] - x->first[node];
}
