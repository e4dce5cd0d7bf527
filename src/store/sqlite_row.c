/* sqlite_row.c - a call as a row of llm_interactions and back.
 *
 * Empty texts and unknown numbers are NULL, so that SQL's own sums and counts are right. Bodies
 * longer than PACK_MIN are packed if that makes them shorter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/buf.h"
#include "store/frame.h"
#include "store/row.h"
#include "store/sqlite.h"

#define PACK_MIN 512u
#define PACK_LEVEL 1 /* half of the time for nine tenths of what the default saves */

void sqlite_call_columns(struct buf *out, const char *each)
{
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];

        buf_printf(out, "%s%s", i > 0 ? ", " : "", each ? each : f->column);
        if (f->kind == ROW_BODY)
            buf_printf(out, ", %s%s", each ? each : f->column, each ? "" : "_size");
    }
}

bool sqlite_pack_init(struct sqlite_pack *p, struct err *e)
{
    *p = (struct sqlite_pack){0};
    if (deflateInit(&p->z, PACK_LEVEL) != Z_OK)
        return err_set(e, ERR_SYSTEM, "zlib does not start");
    return true;
}

void sqlite_pack_release(struct sqlite_pack *p)
{
    (void)deflateEnd(&p->z);
    free(p->out[0]);
    free(p->out[1]);
}

static str packed(struct sqlite_pack *p, unsigned which, str body)
{
    if (body.n <= PACK_MIN || deflateReset(&p->z) != Z_OK)
        return body;
    if (p->cap[which] < body.n) {
        p->cap[which] = body.n;
        p->out[which] = base_realloc(p->out[which], body.n);
    }
    p->z.next_in = (Bytef *)(uintptr_t)body.p;
    p->z.avail_in = (uInt)body.n;
    p->z.next_out = (Bytef *)p->out[which];
    p->z.avail_out = (uInt)(body.n - 1); /* longer is not worth it */
    if (deflate(&p->z, Z_FINISH) != Z_STREAM_END)
        return body;
    return (str){p->out[which], body.n - 1 - p->z.avail_out};
}

void sqlite_bind_str(sqlite3_stmt *st, int at, str s)
{
    if (s.n == 0)
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_text64(st, at, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

void sqlite_call_bind(sqlite3_stmt *st, const struct store_call *row, struct sqlite_pack *p)
{
    unsigned bodies = 0;
    int at = 1;

    for (size_t i = 0; i < row_field_count; i++, at++) {
        const void *from = (const char *)row + row_fields[i].at;
        str s;

        switch (row_fields[i].kind) {
        case ROW_TEXT:
            sqlite_bind_str(st, at, *(const str *)from);
            break;
        case ROW_BODY:
            assert(bodies < COUNT_OF(p->out));
            s = packed(p, bodies++, *(const str *)from);
            sqlite3_bind_blob64(st, at++, s.n ? s.p : NULL, s.n, SQLITE_STATIC);
            sqlite3_bind_int64(st, at, (sqlite3_int64)((const str *)from)->n);
            break;
        case ROW_INT:
            sqlite3_bind_int(st, at, *(const int *)from);
            break;
        case ROW_BOOL:
            sqlite3_bind_int(st, at, *(const bool *)from);
            break;
        case ROW_I64:
            sqlite3_bind_int64(st, at, *(const int64_t *)from);
            break;
        case ROW_KNOWN:
            if (*(const int64_t *)from == -1)
                sqlite3_bind_null(st, at);
            else
                sqlite3_bind_int64(st, at, *(const int64_t *)from);
            break;
        case ROW_COST:
            if (*(const double *)from < 0)
                sqlite3_bind_null(st, at);
            else
                sqlite3_bind_double(st, at, *(const double *)from);
            break;
        }
    }
}

str sqlite_str(sqlite3_stmt *st, int at)
{
    const char *p = sqlite3_column_blob(st, at);
    int n = sqlite3_column_bytes(st, at);

    return p && n > 0 ? (str){p, (size_t)n} : STR("");
}

static bool unpacked(struct arena *a, str body, sqlite3_int64 size, str *out, struct err *e)
{
    uLongf n = (uLongf)size;
    char *p;

    if ((sqlite3_int64)body.n == size) {
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

bool sqlite_call_read(sqlite3_stmt *st, struct arena *a, struct store_call *out, struct err *e)
{
    int at = 0;

    *out = store_call_none;
    for (size_t i = 0; i < row_field_count; i++, at++) {
        void *to = (char *)out + row_fields[i].at;
        bool none = sqlite3_column_type(st, at) == SQLITE_NULL;
        str s;

        switch (row_fields[i].kind) {
        case ROW_TEXT:
            *(str *)to = sqlite_str(st, at);
            break;
        case ROW_BODY:
            s = sqlite_str(st, at++);
            if (!unpacked(a, s, sqlite3_column_int64(st, at), to, e))
                return false;
            break;
        case ROW_INT:
            *(int *)to = sqlite3_column_int(st, at);
            break;
        case ROW_BOOL:
            *(bool *)to = sqlite3_column_int(st, at) != 0;
            break;
        case ROW_I64:
            *(int64_t *)to = sqlite3_column_int64(st, at);
            break;
        case ROW_KNOWN:
            *(int64_t *)to = none ? -1 : sqlite3_column_int64(st, at);
            break;
        case ROW_COST:
            *(double *)to = none ? -1 : sqlite3_column_double(st, at);
            break;
        }
    }
    return true;
}
