/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit.h"

#include "base/blake2bp.h"
#include "store/audit_bytes.h"

#include <openssl/evp.h>

#define HEAD_SIZE_MAX 256u

/* ---- bytes ---- */

static void audit_feed_u64(struct sha256 *h, uint64_t v)
{
    uint64_t bytes = htole64(v);

    sha256_feed(h, (str){(const char *)&bytes, sizeof bytes});
}

static void audit_feed_text(struct sha256 *h, str s)
{
    audit_feed_u64(h, s.n);
    sha256_feed(h, s);
}

void audit_hash(const struct audit_entry *en, const uint8_t prev[SHA256_SIZE],
                uint8_t out[SHA256_SIZE])
{
    struct sha256 h;

    sha256_init(&h);
    sha256_feed(&h, (str){(const char *)prev, SHA256_SIZE});
    audit_feed_u64(&h, (uint64_t)en->seq);
    audit_feed_u64(&h, (uint64_t)en->time_us);
    audit_feed_text(&h, en->actor);
    audit_feed_text(&h, en->action);
    audit_feed_text(&h, en->subject);
    audit_feed_text(&h, en->detail);
    audit_feed_text(&h, en->digest);
    sha256_finish(&h, out);
}

static char *audit_put_u64(char *p, uint64_t v)
{
    uint64_t bytes = htole64(v);

    memcpy(p, &bytes, sizeof bytes);
    return p + sizeof bytes;
}

static char *audit_put_text(char *p, str s)
{
    return str_put(audit_put_u64(p, s.n), s);
}

static void audit_add_u64(struct buf *out, uint64_t v)
{
    uint64_t bytes = htole64(v);

    buf_add(out, (str){(const char *)&bytes, sizeof bytes});
}

static void audit_add_text(struct buf *out, str s)
{
    char *p = buf_room(out, 8 + s.n);

    if (!p)
        return;
    (void)audit_put_text(p, s);
    buf_wrote(out, 8 + s.n);
}

static uint64_t audit_bits_of(const struct row_field *f, const void *from)
{
    uint64_t bits;

    assert(f->kind > ROW_BODY);
    if (f->kind == ROW_INT)
        return (uint64_t)(int64_t) * (const int *)from;
    if (f->kind == ROW_BOOL)
        return *(const bool *)from;
    memcpy(&bits, from, sizeof bits);
    return bits;
}

static bool audit_is_empty(const struct row_field *f, const void *from)
{
    switch (f->kind) {
    case ROW_TEXT:
    case ROW_BODY:
        return ((const str *)from)->n == 0;
    case ROW_INT:
        return *(const int *)from == 0;
    case ROW_BOOL:
        return !*(const bool *)from;
    case ROW_COST:
        return !(*(const double *)from >= 0);
    case ROW_I64:
    case ROW_KNOWN:
        break;
    }
    return *(const int64_t *)from == -1;
}

static void audit_add_field(struct buf *out, const struct row_field *f, const void *row)
{
    const void *from = (const char *)row + f->at;
    str text = f->kind <= ROW_BODY ? *(const str *)from : STR("");
    char *p, *start;

    if (audit_is_empty(f, from))
        return;
    start = p = buf_room(out, 16 + f->column_n + text.n);
    if (!p)
        return;
    p = audit_put_text(p, (str){f->column, f->column_n});
    p = f->kind <= ROW_BODY ? audit_put_text(p, text) : audit_put_u64(p, audit_bits_of(f, from));
    buf_wrote(out, (size_t)(p - start));
}

void audit_add_row(struct buf *out, const struct row_table *t, const void *row)
{
    for (size_t i = 0; i < t->count; i++)
        audit_add_field(out, &t->fields[i], row);
}

/* Found once: looking it up by its name takes as long as a short digest. */
static EVP_MD *blake2b;
static pthread_once_t blake2b_once = PTHREAD_ONCE_INIT;

static void audit_blake2b_find(void)
{
    blake2b = EVP_MD_fetch(NULL, "BLAKE2B-512", NULL);
}

void audit_digest_call(str key, const struct audit_call *call, struct buf *bytes,
                       uint8_t out[SHA256_SIZE])
{
    uint8_t digest[EVP_MAX_MD_SIZE];

    assert(key.n == SHA256_SIZE && call->row);
    buf_reset(bytes);
    buf_add(bytes, key);
    for (size_t i = 0; i < row_field_count; i++)
        if (!row_fields[i].text)
            audit_add_field(bytes, &row_fields[i], call->row);
    audit_add_text(bytes, call->entry);
    (void)pthread_once(&blake2b_once, audit_blake2b_find);
    if (buf_full(bytes))
        base_die("a call is too long to be digested");
    if (call->tree)
        blake2bp_of(buf_str(bytes), digest);
    else if (!blake2b || !EVP_Digest(bytes->p, bytes->n, digest, NULL, blake2b, NULL))
        base_die("a call cannot be digested");
    memcpy(out, digest, SHA256_SIZE);
}

void audit_add_values(struct buf *out, const struct db_value *v, size_t n)
{
    audit_add_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        buf_add_c(out, (char)('0' + v[i].type));
        if (v[i].type == DB_INT)
            audit_add_u64(out, (uint64_t)v[i].i);
        else if (v[i].type != DB_NULL)
            audit_add_text(out, v[i].s);
    }
}

void audit_add_record(struct buf *out, int64_t call_n, const uint8_t digest[SHA256_SIZE])
{
    assert(call_n > 0);
    buf_printf(out, "%lld:", (long long)call_n);
    buf_add(out, (str){(const char *)digest, SHA256_SIZE});
}

void audit_digest(str key, str bytes, uint8_t out[SHA256_SIZE])
{
    struct sha256_mac m;

    assert(key.n == SHA256_SIZE);
    sha256_mac_init(&m, key);
    sha256_mac_feed(&m, bytes);
    sha256_mac_finish(&m, out);
}

str audit_name(str key, str name, struct arena *a)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    audit_digest(key, name, digest);
    return arena_dup(a, str_slice(sha256_hex(digest, hex), 0, 32));
}

void audit_add_session(struct buf *out, const struct db_value c[AUDIT_SESSION_COUNT])
{
    audit_add_values(out, c, AUDIT_SESSION_STARTED);
}

str audit_erasure(struct arena *a, str receipt, const struct audit_counts *c)
{
    return arena_printf(a,
                        "{\"receipt_id\":\"" STR_FMT "\",\"sessions\":%lld,\"interactions\":%lld,"
                        "\"decisions\":%lld,\"communications\":%lld,\"threads\":%lld,"
                        "\"runs\":%lld}",
                        STR_ARG(receipt),
                        (long long)c->sessions,
                        (long long)c->interactions,
                        (long long)c->decisions,
                        (long long)c->communications,
                        (long long)c->threads,
                        (long long)c->runs);
}

/* ---- what the tables hold ---- */

bool audit_key(struct db *db, struct arena *a, str *out, struct err *e)
{
    *out = STR("");
    if (!db_query(db,
                  "SELECT value FROM store_keys WHERE name = 'audit'",
                  DB_NO_ARGS,
                  DB_ROW(db_into_text(a, out)),
                  e))
        return false;
    return out->n == SHA256_SIZE || err_set(e, ERR_NOT_FOUND, "the store has no key for digests");
}

bool audit_last(struct db *db, struct audit_head *out, struct err *e)
{
    *out = (struct audit_head){0};
    return db_query(db,
                    "SELECT seq, time_us, hash FROM audit_log ORDER BY seq DESC LIMIT 1",
                    DB_NO_ARGS,
                    DB_ROW(db_into_i64(&out->seq),
                           db_into_i64(&out->time_us),
                           db_into_bytes(out->hash, sizeof out->hash)),
                    e);
}

/* ---- the head's file ---- */

static bool audit_hex_byte(const char *p, uint8_t *out)
{
    unsigned v = 0;

    for (int i = 0; i < 2; i++) {
        char c = p[i];

        if (c >= '0' && c <= '9')
            v = v << 4 | (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (unsigned)(c - 'a' + 10);
        else
            return false;
    }
    *out = (uint8_t)v;
    return true;
}

/* "rationale audit head 1", then seq, time and hash, one a line. */
static bool audit_parse_head(str text, struct audit_head *out)
{
    str lines[4];
    uint64_t numbers[2];

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        size_t end = str_find(text, STR("\n"));

        if (end == STR_NONE)
            return false;
        lines[i] = str_slice(text, 0, end);
        text = str_slice(text, end + 1, text.n);
    }
    if (!str_eq(lines[0], STR("rationale audit head 1")) || !str_u64(lines[1], &numbers[0]) ||
        !str_u64(lines[2], &numbers[1]) || lines[3].n != 2 * SHA256_SIZE)
        return false;
    out->seq = (int64_t)numbers[0];
    out->time_us = (int64_t)numbers[1];
    for (size_t i = 0; i < SHA256_SIZE; i++)
        if (!audit_hex_byte(lines[3].p + 2 * i, &out->hash[i]))
            return false;
    return true;
}

bool audit_head_read(const char *path, struct audit_head *out, struct err *e)
{
    struct arena a;
    bool ok;
    str text;

    *out = (struct audit_head){0};
    arena_init(&a, 4096);
    ok = file_read(&a, path, HEAD_SIZE_MAX, &text, e);
    if (ok && !audit_parse_head(text, out))
        ok = err_input(e, "%s is no head of an audit log", path);
    arena_release(&a);
    return ok;
}

bool audit_head_write(const char *path, const struct audit_head *head, struct err *e)
{
    char text[HEAD_SIZE_MAX], hex[SHA256_HEX_SIZE];
    int n = snprintf(text,
                     sizeof text,
                     "rationale audit head 1\n%lld\n%lld\n" STR_FMT "\n",
                     (long long)head->seq,
                     (long long)head->time_us,
                     STR_ARG(sha256_hex(head->hash, hex)));

    assert(n > 0 && (size_t)n < sizeof text);
    return file_write_atomic(path, (str){text, (size_t)n}, 0600, e);
}
