/* prose.c - the texts of upstream and clients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "prose.h"

#include "common.h"

#define PROSE_ALL ((size_t)2 << 20) /* some 900 different calls of 2 kB; a block holds 50 */
#define SLICE_MAX ((size_t)32 << 10)
#define STEMS_MAX 512
#define STEMS_BARE 100u /* function words: they have no endings */
#define RARE 32u        /* one word in so many is a name: two stems together */

const struct prose_size prose_sizes[SIZES] = {
    [SMALL] = {"small", 332, 924}, /* a reply of 2 kB with its JSON */
    [PROSE] = {"prose", 660, 1340},
    [LARGE] = {"large", 660, 15340},
    [TURN] = {"turn", 200, 600}, /* of a long conversation */
};

/* Stems, the common ones first: a tokenizer knows them, as it knows the words of real texts. */
static const char STEMS[] =
    "the of and to in is that it was for on as with are be this by at from have not which but "
    "they we or an had were their one all can has there been if more when will would who what "
    "said each other than into time some could them only its over such our man new most through "
    "year must way may down should because long even place made good while people work without "
    "between life world still last might great old house never under own right small since hand "
    "high during number part case week fact water group problem government company system "
    "program question study area money story point state school country city community name "
    "president team minute idea body information parent face level office door health person "
    "history party result change morning reason research moment air teacher force order report "
    "stone wall wind harbour port ship crew cargo master captain engineer bridge river coast "
    "north south east west winter summer spring storm tide rope iron wood paper letter record "
    "account price market trade merchant council vote law court judge claim debt tax share "
    "profit cost value rate measure weight length build carry hold turn move send bring keep "
    "lead follow learn read write speak open close start finish raise lower cross pass reach "
    "break mend repair paint clean plan draw check test compare count list sort search find show "
    "hide answer ask tell call clear deep wide narrow heavy light early late fresh safe strong "
    "weak rich poor full empty dry wet cold warm quiet loud green user server client request "
    "reply model token cache memory disk error retry limit queue block index table query default";

static char prose[PROSE_ALL];

enum size prose_size_find(const char *model)
{
    int size = 0;

    while (size < SIZES &&
           strncmp(model, prose_sizes[size].model, strlen(prose_sizes[size].model)) != 0)
        size++;
    return (enum size)size;
}

static uint64_t prose_chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static size_t stems_split(const char *stems[STEMS_MAX])
{
    static char text[sizeof STEMS];
    size_t count = 0;

    memcpy(text, STEMS, sizeof STEMS);
    for (char *save, *w = strtok_r(text, " ", &save); w && count < STEMS_MAX;
         w = strtok_r(NULL, " ", &save))
        stems[count++] = w;
    return count;
}

/* Low numbers, which are common words, more often. */
static size_t stem_pick(size_t count, uint64_t *state)
{
    size_t n = (size_t)prose_chance(state) % count;

    return n * ((size_t)prose_chance(state) % count) / count;
}

void prose_init(void)
{
    static const char *const ends[] = {"", "", "", "", "", "", "", "", "s", "s", "ing"};
    const char *stems[STEMS_MAX];
    size_t count = stems_split(stems), n = 0;
    uint64_t state = 1;

    while (n + 64 < PROSE_ALL) {
        size_t stem = stem_pick(count, &state);
        char *at = stpcpy(prose + n, stems[stem]);

        if (prose_chance(&state) % RARE == 0) {
            prose[n] = (char)(prose[n] - 'a' + 'A');
            at = stpcpy(at, stems[stem_pick(count, &state)]);
        } else if (stem >= STEMS_BARE) {
            at = stpcpy(at, ends[prose_chance(&state) % (sizeof ends / sizeof *ends)]);
        }
        n = (size_t)(stpcpy(at, prose_chance(&state) % 11 ? " " : ". ") - prose);
    }
    memset(prose + n, ' ', PROSE_ALL - n);
}

const char *prose_slice(uint32_t number, enum prose_part part)
{
    uint64_t state = (uint64_t)number * PROSE_PARTS + part;
    size_t at;

    (void)prose_chance(&state);
    at = (size_t)(prose_chance(&state) % (PROSE_ALL - SLICE_MAX));
    while (prose[at] != ' ')
        at++;
    return prose + at + 1;
}
