/* SPDX-License-Identifier: MIT */
/* Tests of lib/forecast: it counts exactly the pages that the loader would take. */
#include "lib/internal.h"
#include "tap.h"

static uint64_t state;

static uint64_t random_below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

/* The sizes of the records of one entry. */
struct sizes {
    uint64_t name, stat, sqlar;
};

/* The same rows in any round with the same number. */
static struct sizes next_sizes(unsigned kind)
{
    struct sizes sizes = {.name = 10 + random_below(60), .stat = 30 + random_below(60)};
    sizes.sqlar = sizes.name + 12 + random_below(kind == 0 ? 100 : kind == 1 ? 20000 : 700);
    if (kind == 2 && random_below(20) == 0) {
        sizes.name += random_below(4000);
        sizes.stat += random_below(70000);
        sizes.sqlar = sizes.name + random_below(3000000);
    }
    return sizes;
}

static uint64_t load(uint32_t page_bytes, unsigned kind, int64_t rows)
{
    struct sqlpack_error err;
    struct loader *loader;
    struct loader_row row;
    struct loader_batch batch = {.rows = &row, .row_count = 1};
    need(loader_open(-1, "", page_bytes, &loader, &err) == 0);
    state = kind + (uint64_t)rows;
    for (int64_t id = 1; id <= rows; id++) {
        struct sizes sizes = next_sizes(kind);
        struct payload name = {.head_bytes = sizes.name}, stat = {.head_bytes = sizes.stat};
        row = (struct loader_row){.id = id, .payload = {.head_bytes = sizes.sqlar}};
        need(loader_append(loader, TABLE_SQLAR_NAME, 0, &name, &err) == 0);
        need(loader_append(loader, TABLE_STAT, id, &stat, &err) == 0);
        need(loader_place_begin(loader, &batch, &err) == 0);
        need(loader_place(loader, &batch, 0, &err) == 0);
        need(loader_place_end(loader, &batch, &err) == 0);
    }
    need(loader_finish(loader, &err) == 0);
    uint64_t pages = loader_page_count(loader);
    loader_batch_release(&batch);
    loader_close(loader);
    return pages;
}

static void test_rows(unsigned kind, int64_t rows)
{
    struct sqlpack_error err;
    struct forecast *forecast;
    uint64_t pages[SQLPACK_PAGE_SIZES];
    need(forecast_open(&forecast, &err) == 0);
    state = kind + (uint64_t)rows;
    for (int64_t id = 1; id <= rows; id++) {
        struct sizes sizes = next_sizes(kind);
        need(forecast_row(forecast, TABLE_SQLAR_NAME, 0, sizes.name, NULL, &err) == 0);
        need(forecast_row(forecast, TABLE_STAT, id, sizes.stat, NULL, &err) == 0);
        need(forecast_row(forecast, TABLE_SQLAR, id, sizes.sqlar, NULL, &err) == 0);
    }
    need(forecast_finish(forecast, pages, &err) == 0);
    forecast_close(forecast);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        uint32_t page_bytes = (uint32_t)512 << i;
        uint64_t want = load(page_bytes, kind, rows);
        ok(pages[i] == want, "kind %u, %lld rows, pages of %u", kind, (long long)rows, page_bytes);
        if (pages[i] != want)
            printf("# got %llu, want %llu\n", (unsigned long long)pages[i],
                   (unsigned long long)want);
    }
}

static void test_chains(void)
{
    struct sqlpack_error err;
    struct forecast *forecast;
    uint32_t chains[SQLPACK_PAGE_SIZES];
    need(forecast_open(&forecast, &err) == 0);
    need(forecast_row(forecast, TABLE_SQLAR, 1, 10000, chains, &err) == 0);
    is_int(chains[7], 0, "10,000 bytes fit into a page of 64K");
    is_int(chains[3], 2, "... and spill to two pages of 4K");
    forecast_close(forecast);
}

int main(void)
{
    const int64_t rows[] = {0, 1, 2, 7, 50, 333, 4000, 30000};
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            test_rows(kind, rows[i]);
    test_rows(1, 120000); /* past the page at byte 2^30 */
    test_chains();
    return done();
}
