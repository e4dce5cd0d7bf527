/* query_words.c - what someone typed, as a query for full text.
 *
 * Words stand between white space. Each is put in quotes, so that nothing in it is an operator; the
 * last one may be the front of a word, if it is none itself: it may still be in the making.
 * "asked:", "answer:", "reasoning:" and "error:" before a word say where it must stand. All words
 * must be there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/query_in.h"

static const struct field {
    const char *prefix;
    const char *column; /* of interactions_text */
    char weight;        /* of the same column's part of a tsvector */
} fields[] = {
    {"asked:", "asked", 'A'},
    {"answer:", "answer", 'B'},
    {"reasoning:", "reasoning_content", 'C'},
    {"error:", "error_message", 'D'},
};

#define FRONT_MIN 3 /* characters: shorter ones begin half of all words */
#define REASONING (&fields[2])

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* Up to the next space; false at the end. */
static bool next_word(str *rest, str *word)
{
    size_t from = 0, to;

    while (from < rest->n && is_space(rest->p[from]))
        from++;
    for (to = from; to < rest->n && !is_space(rest->p[to]);)
        to++;
    *word = str_slice(*rest, from, to);
    *rest = str_slice(*rest, to, rest->n);
    return word->n > 0;
}

/* Whether there is anything in it that a tokenizer may make a token of. */
static bool has_letter(str word)
{
    for (size_t i = 0; i < word.n; i++) {
        unsigned char c = (unsigned char)word.p[i];

        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
            return true;
    }
    return false;
}

static const struct field *scope_of(str *word)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (str_starts(*word, str_c(fields[i].prefix))) {
            *word = str_slice(*word, strlen(fields[i].prefix), word->n);
            return &fields[i];
        }
    return NULL;
}

static void add_quoted(struct buf *b, str word, char quote)
{
    buf_add_c(b, quote);
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == quote || (quote == '\'' && word.p[i] == '\\'))
            buf_add_c(b, word.p[i]);
        buf_add_c(b, word.p[i]);
    }
    buf_add_c(b, quote);
}

/* {asked answer} : "word"* */
static void add_sqlite(struct buf *b, str word, const struct field *in, bool hide, bool last)
{
    if (in)
        buf_printf(b, "%s : ", in->column);
    else if (hide)
        buf_add(b, STR("{asked answer error_message} : "));
    add_quoted(b, word, '"');
    buf_add(b, last ? STR("* ") : STR(" "));
}

/* 'word':*AB */
static void add_postgres(struct buf *b, str word, const struct field *in, bool hide, bool last)
{
    if (b->n)
        buf_add(b, STR(" & "));
    add_quoted(b, word, '\'');
    if (last || in || hide)
        buf_add_c(b, ':');
    if (last)
        buf_add_c(b, '*');
    if (in)
        buf_add_c(b, in->weight);
    else if (hide)
        buf_add(b, STR("ABD"));
}

struct word {
    str text;
    const struct field *in;
};

static str write_query(const struct reader *r, const struct word *words, size_t n, bool hide,
                       bool front)
{
    struct arena *a = (struct arena *)(uintptr_t)&r->arena;
    size_t size = QUERY_WORDS_MAX * 48;
    struct buf b;
    str out;

    for (size_t i = 0; i < n; i++)
        size += 2 * words[i].text.n;
    buf_init(&b, size);
    for (size_t i = 0; i < n; i++) {
        if (db_kind(r->db) == DB_POSTGRES)
            add_postgres(&b, words[i].text, words[i].in, hide, front && i + 1 == n);
        else
            add_sqlite(&b, words[i].text, words[i].in, hide, front && i + 1 == n);
    }
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

/* Only among the rows that the asker may see: otherwise the choice between whole words and fronts
 * would tell which words the other rows have. */
static bool has_hits(struct reader *r, const struct query_asker *a, enum words_of of, str query,
                     bool *out, struct err *e)
{
    static const struct sql_text texts[] = {
        [WORDS_OF_DECISIONS] = {"SELECT 1 FROM decisions_text CROSS JOIN decisions d ON "
                                "d.decision_id = decisions_text.rowid WHERE decisions_text MATCH ",
                                "SELECT 1 FROM decisions d WHERE d.words @@ to_tsquery('simple', "},
        [WORDS_OF_CALLS] = {"SELECT 1 FROM interactions_text CROSS JOIN llm_interactions i ON "
                            "i.rowid = interactions_text.rowid WHERE interactions_text MATCH ",
                            "SELECT 1 FROM llm_interactions i WHERE i.words @@ "
                            "to_tsquery('simple', "},
    };
    bool decisions = of == WORDS_OF_DECISIONS;
    struct sql q;
    int64_t n;
    bool ok;

    sql_init(&q);
    sql_add(&q, sql_text(r, texts[of]));
    sql_value(&q, db_text(query));
    sql_add(&q, sql_text(r, (struct sql_text){"", ")"}));
    q.where = true;
    sql_key_scope(&q, a, decisions ? "d.session_id" : "i.session_id");
    if (decisions && a->hide_reasoning) {
        sql_and(&q);
        sql_add(&q, DECISION_PLAIN);
    }
    sql_add(&q, " LIMIT 1");
    ok = sql_number(r, &q, &n, e);
    sql_release(&q);
    *out = n > 0;
    return ok;
}

/* The last word is a whole one if it is found so: to look for what it may be the front of, the
 * lists of all such words are joined, which takes its time if they are long. */
bool words_query(struct reader *r, const struct query_asker *a, str typed, enum words_of of,
                 str *out, struct err *e)
{
    bool calls = of == WORDS_OF_CALLS, hide = calls && a->hide_reasoning, hits;
    struct word words[QUERY_WORDS_MAX];
    str rest = typed, word;
    size_t n = 0;

    *out = STR("");
    while (n < QUERY_WORDS_MAX && next_word(&rest, &word)) {
        words[n].in = calls ? scope_of(&word) : NULL;
        if (words[n].in == REASONING && hide)
            return true;
        words[n].text = word;
        n += has_letter(word);
    }
    if (n == 0)
        return true;
    *out = write_query(r, words, n, hide, false);
    if (utf8_count(words[n - 1].text) < FRONT_MIN)
        return true;
    if (!has_hits(r, a, of, *out, &hits, e))
        return false;
    if (!hits)
        *out = write_query(r, words, n, hide, true);
    return true;
}

str words_clean(str words, struct arena *a)
{
    char *p = arena_alloc(a, words.n + 1);
    struct buf b;
    str out;

    for (size_t i = 0; i < words.n; i++)
        p[i] = words.p[i] ? words.p[i] : ' ';
    buf_init(&b, words.n * 3 + 16);
    (void)utf8_copy(&b, (str){p, words.n});
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

bool words_scoped(str words)
{
    str rest = words, word;

    while (next_word(&rest, &word))
        if (scope_of(&word))
            return true;
    return false;
}

bool words_want_reasoning(str words)
{
    str rest = words, word;

    while (next_word(&rest, &word))
        if (scope_of(&word) == REASONING)
            return true;
    return false;
}

str words_like(str words, struct arena *a)
{
    struct buf b;
    str out;

    buf_init(&b, words.n * 2 + 16);
    buf_add_c(&b, '%');
    for (size_t i = 0; i < words.n; i++) {
        if (words.p[i] == '%' || words.p[i] == '_' || words.p[i] == '\\')
            buf_add_c(&b, '\\');
        if (words.p[i])
            buf_add_c(&b, words.p[i]);
    }
    buf_add_c(&b, '%');
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}
