/* airline.c - labelled rows from the airline's reservations. See airline.h.
 *
 * The policy's day is 2024-05-15 15:00. Where a reservation alone would give only one answer (none
 * has six passengers), the question is about it and the user's next one together, or about a wish
 * that follows from its number.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench/policy/airline.h"

#include "base/clock.h"
#include "base/file.h"

#define CORPUS_MAX ((size_t)16 << 20)
#define NOW "2024-05-15T15:00:00Z"

/* The subject of a question. */
struct booking {
    str id, user, cabin, membership, trip, origin, destination;
    int passengers, bags, hours;
    int certificates, credit_cards, gift_cards; /* in the user's profile */
    bool insurance, paid_from_profile;
    bool cancelled, delayed, used; /* any of its flights */
    unsigned n;                    /* its index, which determines the wishes */
    str status;                    /* of its first flight on its day */
};

struct row {
    struct buf facts;
    const struct booking *b;
    void (*on_row)(void *ctx, const struct airline_row *row);
    void *ctx;
    double confidence;
};

static bool load(struct airline *l, const char *folder, const char *name, struct json *doc,
                 struct err *e)
{
    char path[FILE_PATH_MAX];
    str text;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_init(doc);
    return file_read(&l->arena, path, CORPUS_MAX, &text, e) && json_parse(doc, text, e);
}

bool airline_load(struct airline *l, const char *folder, struct err *e)
{
    arena_init(&l->arena, (size_t)128 << 20);
    return load(l, folder, "airline-reservations.json", &l->reservations, e) &&
           load(l, folder, "airline-users.json", &l->users, e) &&
           load(l, folder, "airline-flights.json", &l->flights, e);
}

void airline_free(struct airline *l)
{
    json_release(&l->reservations);
    json_release(&l->users);
    json_release(&l->flights);
    arena_release(&l->arena);
}

static str text_of(struct airline *l, const struct json *doc, const struct json_node *v,
                   const char *name)
{
    str out = STR("");

    return json_text(doc, json_find(doc, v, str_c(name)), &l->arena, &out) ? out : STR("");
}

static int number_of(const struct json *doc, const struct json_node *v, const char *name)
{
    int64_t n = 0;

    return json_i64(doc, json_find(doc, v, str_c(name)), &n) ? (int)n : 0;
}

static str flight_status(struct airline *l, str number, str date)
{
    const struct json *doc = &l->flights;
    const struct json_node *f = json_find(doc, json_root(doc), number);

    f = json_find(doc, json_find(doc, f, STR("dates")), date);
    return text_of(l, doc, f, "status");
}

static void read_flights(struct airline *l, const struct json_node *r, struct booking *b)
{
    const struct json *doc = &l->reservations;
    const struct json_node *list = json_find(doc, r, STR("flights"));

    for (const struct json_node *f = json_first(doc, list); f; f = json_next(doc, list, f)) {
        str s = flight_status(l, text_of(l, doc, f, "flight_number"), text_of(l, doc, f, "date"));

        if (b->status.n == 0)
            b->status = s;
        b->cancelled = b->cancelled || str_eq(s, STR("cancelled"));
        b->delayed = b->delayed || str_eq(s, STR("delayed"));
        b->used = b->used || str_eq(s, STR("landed")) || str_eq(s, STR("flying"));
    }
}

static void read_user(struct airline *l, const struct json_node *r, struct booking *b)
{
    const struct json *doc = &l->users, *res = &l->reservations;
    const struct json_node *u = json_find(doc, json_root(doc), b->user);
    const struct json_node *methods = json_find(doc, u, STR("payment_methods"));
    const struct json_node *paid = json_find(res, r, STR("payment_history"));

    b->membership = text_of(l, doc, u, "membership");
    for (const struct json_node *k = json_first(doc, methods); k; k = json_next(doc, methods, k)) {
        str source = text_of(l, doc, json_value(k), "source");

        b->certificates += str_eq(source, STR("certificate"));
        b->credit_cards += str_eq(source, STR("credit_card"));
        b->gift_cards += str_eq(source, STR("gift_card"));
    }
    b->paid_from_profile = true;
    for (const struct json_node *p = json_first(res, paid); p; p = json_next(res, paid, p))
        if (!json_find(doc, methods, text_of(l, res, p, "payment_id")))
            b->paid_from_profile = false;
}

static void read_booking(struct airline *l, const struct json_node *r, unsigned n,
                         struct booking *b)
{
    const struct json *doc = &l->reservations;
    int64_t now, made = 0;
    str created = text_of(l, doc, r, "created_at");

    *b = (struct booking){.id = text_of(l, doc, r, "reservation_id"),
                          .user = text_of(l, doc, r, "user_id"),
                          .cabin = text_of(l, doc, r, "cabin"),
                          .trip = text_of(l, doc, r, "flight_type"),
                          .origin = text_of(l, doc, r, "origin"),
                          .destination = text_of(l, doc, r, "destination"),
                          .bags = number_of(doc, r, "total_baggages"),
                          .n = n,
                          .status = STR("")};
    b->passengers = (int)json_count(doc, json_find(doc, r, STR("passengers")));
    b->insurance = json_is(doc, json_find(doc, r, STR("insurance")), STR("yes"));
    if (clock_parse(STR(NOW), &now) &&
        clock_parse(arena_join(&l->arena, created, STR("Z"), STR("")), &made))
        b->hours = (int)((now - made) / 3600000);
    read_flights(l, r, b);
    read_user(l, r, b);
}

static void fact(struct row *r, const char *name, const char *json)
{
    buf_printf(&r->facts,
               "%s{\"field_name\":\"%s\",\"value\":%s,\"confidence\":%g,\"doc_id\":\"reservation\","
               "\"page\":1}",
               r->facts.n > 0 ? "," : "",
               name,
               json,
               r->confidence);
}

static void fact_int(struct row *r, const char *name, int v)
{
    char text[32];

    snprintf(text, sizeof text, "%d", v);
    fact(r, name, text);
}

static void fact_bool(struct row *r, const char *name, bool v)
{
    fact(r, name, v ? "true" : "false");
}

static void fact_text(struct row *r, const char *name, str v)
{
    char text[120];

    snprintf(text, sizeof text, "\"" STR_FMT "\"", STR_ARG(v));
    fact(r, name, text);
}

static void ask(struct row *r, const char *criterion, const char *section, enum policy_status s)
{
    struct airline_row row = {.criterion = criterion, .status = s, .section = section};
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_printf(&b,
               "{\"case_id\":\"" STR_FMT "\",\"policy_id\":\"airline\",\"fields\":[" STR_FMT
               "],\"metadata\":{\"policy_document_id\":\"airline\",\"criteria\":[\"%s\"]}}",
               STR_ARG(r->b->id),
               STR_ARG(buf_str(&r->facts)),
               criterion);
    row.json = buf_str(&b);
    r->on_row(r->ctx, &row);
    buf_release(&b);
    buf_reset(&r->facts);
}

static enum policy_status met(bool yes)
{
    return yes ? POLICY_MET : POLICY_MISSING;
}

/* Free checked bags for one passenger. */
static int allowance(const struct booking *b)
{
    int tier = str_eq(b->membership, STR("gold")) ? 2 : str_eq(b->membership, STR("silver"));
    int base = str_eq(b->cabin, STR("business")) ? 2 : str_eq(b->cabin, STR("economy"));

    return tier + base > 3 ? 3 : tier + base;
}

static void ask_booking(struct row *r, const struct booking *b, const struct booking *next)
{
    static const char book[] = "Book flight";
    int together = b->passengers + (b->n % 2 ? next->passengers : 0);
    int bags = b->bags + (int)(b->n % 4);
    bool profile = b->n % 3 ? b->paid_from_profile : str_eq(b->user, next->user);

    fact_int(r, "passengers", together);
    fact_text(r, "cabin", b->cabin);
    ask(r, "passengers", book, met(together <= 5));
    fact_int(r, "travel_certificates", b->certificates);
    fact_int(r, "gift_cards", b->gift_cards);
    fact_int(r, "credit_cards", b->credit_cards);
    ask(r,
        "book_payment",
        book,
        met(b->certificates <= 1 && b->gift_cards <= 3 && b->credit_cards <= 1));
    fact_int(r, "travel_certificates", b->certificates);
    ask(r, "travel_certificate", book, met(b->certificates <= 1));
    fact_bool(r, "payment_methods_in_user_profile", profile);
    ask(r, "payment_methods_in_profile", book, met(profile));
    fact_text(r, "membership", b->membership);
    fact_text(r, "cabin", b->cabin);
    fact_int(r, "passengers", b->passengers);
    fact_int(r, "free_checked_bags", bags);
    ask(r, "checked_bag_allowance", book, met(bags <= allowance(b) * b->passengers));
}

static void ask_changes(struct row *r, const struct booking *b, const struct booking *next)
{
    static const char modify[] = "Modify flight";
    bool basic = str_eq(b->cabin, STR("basic_economy"));
    bool origin = b->n % 4 == 3 && !str_eq(b->origin, next->origin);
    bool destination = b->n % 4 == 2 && !str_eq(b->destination, next->destination);
    bool trip = b->n % 4 == 1 && !str_eq(b->trip, next->trip);
    bool flights = b->n % 3 == 0, adds = b->n % 2 == 0;
    bool segment = b->n % 5 == 0;

    fact_text(r, "cabin", b->cabin);
    fact_bool(r, "changing_origin", origin);
    fact_bool(r, "changing_destination", destination);
    fact_bool(r, "changing_trip_type", trip);
    ask(r, "change_flights", modify, met(!basic && !origin && !destination && !trip));
    fact_text(r, "cabin", b->cabin);
    fact_bool(r, "changing_flights", flights);
    fact_bool(r, "changing_cabin_for_just_one_flight_segment", segment);
    ask(r, "change_cabin", modify, met(!flights && !segment));
    fact_bool(r, "add_insurance", !b->insurance);
    ask(r, "change_insurance", modify, met(b->insurance));
    fact_bool(r, adds ? "add_checked_bags" : "remove_checked_bags", true);
    ask(r, "change_baggage", modify, met(adds));
    fact_bool(r, "modify_number_of_passengers", b->n % 3 == 1);
    ask(r, "change_passengers", modify, met(b->n % 3 != 1));
}

static void ask_cancel(struct row *r, const struct booking *b)
{
    bool reason = b->n % 2 == 0, business = str_eq(b->cabin, STR("business"));
    bool can = b->hours <= 24 || b->cancelled || business || (b->insurance && reason);

    fact_int(r, "hours_since_booking", b->hours);
    fact_bool(r, "airline_cancelled_flight", b->cancelled);
    fact_text(r, "cabin", b->cabin);
    fact_text(r, "travel_insurance", b->insurance ? STR("yes") : STR("no"));
    fact_bool(r, "condition_met", reason);
    fact_bool(r, "segments_already_used", b->used);
    fact_text(r, "membership", b->membership);
    ask(r, "cancellation", "Cancel flight", met(can && !b->used));
}

static void ask_refund(struct row *r, const struct booking *b)
{
    bool status = !str_eq(b->membership, STR("regular")),
         business = str_eq(b->cabin, STR("business"));
    bool eligible = status || b->insurance || business;

    for (int delayed = 0; delayed < 2; delayed++) {
        bool complains = delayed ? b->delayed || b->n % 2 : b->cancelled || b->n % 2;
        bool wants = b->n % 5 != 0;

        fact_text(r, "membership", b->membership);
        fact_text(r, "cabin", b->cabin);
        fact_bool(r, "travel_insurance", b->insurance);
        fact_bool(r,
                  delayed ? "complains_about_delayed_flights" : "complains_about_cancelled_flights",
                  complains);
        if (delayed)
            fact_bool(r, "wants_to_change_or_cancel", wants);
        ask(r,
            delayed ? "certificate_for_delayed_flights" : "certificate_for_cancelled_flights",
            "Refund",
            met(eligible && complains && (!delayed || wants)));
    }
}

static void ask_status(struct row *r, const struct booking *b)
{
    bool no = str_eq(b->status, STR("delayed")) || str_eq(b->status, STR("on time")) ||
              str_eq(b->status, STR("flying"));

    if (b->status.n == 0)
        return;
    fact_text(r, "status", b->status);
    ask(r,
        "flight_status",
        no ? "Domain Basic" : "",
        no                                    ? POLICY_MISSING
        : str_eq(b->status, STR("available")) ? POLICY_MET
                                              : POLICY_UNCERTAIN);
}

/* Facts that are missing, uncertain or contradictory. */
static void ask_unsure(struct row *r, const struct booking *b)
{
    switch (b->n % 3) {
    case 0:
        fact_text(r, "cabin", b->cabin);
        break;
    case 1:
        r->confidence = 0.4;
        fact_int(r, "passengers", b->passengers);
        r->confidence = 0.95;
        break;
    default:
        fact_int(r, "passengers", b->passengers);
        fact_int(r, "passengers", b->passengers + 3);
    }
    ask(r, "passengers", "Book flight", POLICY_UNCERTAIN);
}

void airline_each(struct airline *l, unsigned max,
                  void (*on_row)(void *ctx, const struct airline_row *row), void *ctx)
{
    const struct json *doc = &l->reservations;
    const struct json_node *root = json_root(doc);
    struct row r = {.on_row = on_row, .ctx = ctx, .confidence = 0.95};
    unsigned n = 0;

    buf_init(&r.facts, 1 << 16);
    for (const struct json_node *k = json_first(doc, root); k && n < max;
         k = json_next(doc, root, k), n++) {
        const struct json_node *after = json_next(doc, root, k);
        struct booking b, next;

        read_booking(l, json_value(k), n, &b);
        read_booking(l, json_value(after ? after : json_first(doc, root)), n + 1, &next);
        r.b = &b;
        ask_booking(&r, &b, &next);
        ask_changes(&r, &b, &next);
        ask_cancel(&r, &b);
        ask_refund(&r, &b);
        ask_status(&r, &b);
        ask_unsure(&r, &b);
    }
    buf_release(&r.facts);
}
