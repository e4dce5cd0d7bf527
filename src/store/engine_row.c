/* engine_row.c - a call as a row of llm_interactions and back.
 *
 * Empty texts and unknown numbers are NULL, so that SQL's own sums and counts are right. Bodies
 * longer than PACK_MIN are packed if that makes them shorter.
 *
 * PostgreSQL takes no NUL and nothing that is not UTF-8 as text, and no long name in an index: what
 * is neither is replaced by U+FFFD, and a long name by its beginning and its digest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "base/utf8.h"
#include "store/engine_in.h"
#include "store/frame.h"
#include "store/row.h"

#define PACK_MIN 512u
#define PACK_SMALL 8192u /* a window of 13 bits */
#define NAME_SIZE_MAX 512u
#define NAME_SIZE_KEPT 400u

void engine_columns(struct buf *out, bool marks)
{
    unsigned at = 1;

    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];

        if (marks) {
            buf_printf(out, "%s$%u", i > 0 ? ", " : "", at++);
            if (f->kind == ROW_BODY)
                buf_printf(out, ", $%u", at++);
        } else {
            buf_printf(out, "%s%s", i > 0 ? ", " : "", f->column);
            if (f->kind == ROW_BODY)
                buf_printf(out, ", %s_size", f->column);
        }
    }
    assert(at <= ENGINE_COLUMNS_MAX);
}

struct db_value engine_text(str s)
{
    return s.n > 0 ? db_text(s) : db_null();
}

struct db_value engine_known(int64_t v)
{
    return v == -1 ? db_null() : db_int(v);
}

int64_t engine_us(int64_t ms)
{
    return ms < 0 || ms > INT64_MAX / 1000 ? -1 : ms * 1000;
}

/* ---- in ---- */

static str packed(struct engine *en, str body)
{
    z_stream *z = body.n <= PACK_SMALL ? &en->z_small : &en->z;
    char *out;

    if (body.n <= PACK_MIN || deflateReset(z) != Z_OK)
        return body;
    out = arena_alloc(&en->arena, body.n);
    z->next_in = (Bytef *)(uintptr_t)body.p;
    z->avail_in = (uInt)body.n;
    z->next_out = (Bytef *)out;
    z->avail_out = (uInt)(body.n - 1); /* longer is not worth it */
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return body;
    return (str){out, body.n - 1 - z->avail_out};
}

size_t engine_row_values(struct engine *en, const struct store_call *row,
                         struct db_value out[ENGINE_COLUMNS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < row_field_count; i++) {
        const void *from = (const char *)row + row_fields[i].at;

        switch (row_fields[i].kind) {
        case ROW_TEXT:
            out[n++] = engine_text(*(const str *)from);
            break;
        case ROW_BODY:
            out[n] = db_blob(packed(en, *(const str *)from));
            if (out[n].s.n == 0)
                out[n] = db_null();
            out[++n] = db_int((int64_t)((const str *)from)->n);
            n++;
            break;
        case ROW_INT:
            out[n++] = db_int(*(const int *)from);
            break;
        case ROW_BOOL:
            out[n++] = db_int(*(const bool *)from);
            break;
        case ROW_I64:
            out[n++] = db_int(*(const int64_t *)from);
            break;
        case ROW_KNOWN:
            out[n++] = engine_known(*(const int64_t *)from);
            break;
        case ROW_COST:
            out[n++] = *(const double *)from >= 0 ? db_real(*(const double *)from) : db_null();
            break;
        }
    }
    assert(n <= ENGINE_COLUMNS_MAX);
    return n;
}

static bool is_text(str s)
{
    return utf8_valid(s) && (s.n == 0 || !memchr(s.p, '\0', s.n));
}

str engine_clean(struct engine *en, str text)
{
    struct buf b;
    str out;

    if (en->kind == DB_SQLITE || is_text(text))
        return text;
    buf_init(&b, 4 * text.n + 16);
    (void)utf8_copy(&b, text);
    for (size_t at = 0; at < b.n; at++)
        if (b.p[at] == '\0')
            b.p[at] = ' ';
    out = arena_dup(&en->arena, buf_str(&b));
    buf_release(&b);
    return out;
}

str engine_clean_name(struct engine *en, str name)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    if (en->kind == DB_SQLITE)
        return name;
    if (name.n > NAME_SIZE_MAX) {
        sha256_of(name, digest);
        name = arena_join(
            &en->arena, utf8_cut_size(name, NAME_SIZE_KEPT), STR("..."), sha256_hex(digest, hex));
    }
    return engine_clean(en, name);
}

void engine_row_clean(struct engine *en, struct store_call *row)
{
    str *names[] = {&row->id,
                    &row->session_id,
                    &row->parent_id,
                    &row->subject,
                    &row->model,
                    &row->key_name,
                    &row->provider,
                    &row->level,
                    &row->talk};

    if (!(row->cost_usd >= 0))
        row->cost_usd = -1; /* what is no number included */
    if (row->session_id.n == 0)
        row->session_id = row->id;
    if (en->kind == DB_SQLITE)
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        *names[i] = engine_clean_name(en, *names[i]);
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].kind == ROW_TEXT)
            *row_text(row, &row_fields[i]) = engine_clean(en, *row_text(row, &row_fields[i]));
}

/* ---- out ---- */

static bool unpacked(struct arena *a, str body, int64_t size, str *out, struct err *e)
{
    uLongf n = (uLongf)size;
    char *p;

    if ((int64_t)body.n == size) {
        *out = body;
        return true;
    }
    if (size < 0 || (size_t)size > FRAME_BODY_MAX || (size_t)size > arena_left(a) / 2)
        return err_set(e, ERR_SYSTEM, "a body claims to be %lld bytes", (long long)size);
    p = arena_alloc(a, (size_t)size);
    if (uncompress((Bytef *)p, &n, (const Bytef *)body.p, (uLong)body.n) != Z_OK ||
        n != (uLongf)size)
        return err_set(e, ERR_SYSTEM, "a packed body is damaged");
    *out = (str){p, (size_t)size};
    return true;
}

bool engine_row_read(const struct db_value *v, size_t n, struct arena *a, struct store_call *out,
                     struct err *e)
{
    *out = store_call_none;
    for (size_t i = 0; i < row_field_count; i++, v++) {
        void *to = (char *)out + row_fields[i].at;
        bool none = v->type == DB_NULL;

        assert(n-- > 0);
        switch (row_fields[i].kind) {
        case ROW_TEXT:
            *(str *)to = none || v->s.n == 0 ? STR("") : v->s;
            break;
        case ROW_BODY:
            if (!unpacked(a, none ? STR("") : v->s, v[1].i, to, e))
                return false;
            v++;
            break;
        case ROW_INT:
            *(int *)to = (int)v->i;
            break;
        case ROW_BOOL:
            *(bool *)to = v->i != 0;
            break;
        case ROW_I64:
            *(int64_t *)to = v->i;
            break;
        case ROW_KNOWN:
            *(int64_t *)to = none ? -1 : v->i;
            break;
        case ROW_COST:
            *(double *)to = none ? -1 : v->type == DB_INT ? (double)v->i : v->d;
            break;
        }
    }
    return true;
}
