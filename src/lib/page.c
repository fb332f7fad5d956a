/* SPDX-License-Identifier: MIT */
/* How SQLite's file format places a row: pure arithmetic, and pages built in memory. */
#include <string.h>

#include "lib/internal.h"

unsigned page_varint_bytes(uint64_t value)
{
    unsigned bytes = 1;
    while (bytes < PAGE_VARINT_MAX && value >> 7) {
        value >>= 7;
        bytes++;
    }
    return bytes;
}

unsigned char *page_put_varint(unsigned char *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (unsigned char)value;
        return at + 1;
    }
    unsigned bytes = page_varint_bytes(value);
    unsigned last = bytes - 1;
    if (bytes == PAGE_VARINT_MAX) { /* the ninth byte has eight bits */
        at[last--] = (unsigned char)value;
        value >>= 8;
        for (unsigned i = 0; i <= last; i++)
            at[last - i] = (unsigned char)(0x80 | (value >> (7 * i) & 0x7f));
        return at + bytes;
    }
    for (unsigned i = 0; i < bytes; i++)
        at[last - i] = (unsigned char)((i ? 0x80 : 0) | (value >> (7 * i) & 0x7f));
    return at + bytes;
}

unsigned char *page_put_u32(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)(value >> 24);
    at[1] = (unsigned char)(value >> 16);
    at[2] = (unsigned char)(value >> 8);
    at[3] = (unsigned char)value;
    return at + 4;
}

/* fileformat2.html, section 1.6, with U the page size, P the payload, and nothing reserved. */
uint32_t page_most_local(uint32_t page_bytes, bool is_index)
{
    return is_index ? (page_bytes - 12) * 64 / 255 - 23 : page_bytes - 35;
}

uint32_t page_local_bytes(uint32_t page_bytes, bool is_index, uint64_t payload_bytes)
{
    uint32_t most = page_most_local(page_bytes, is_index);
    if (payload_bytes <= most)
        return (uint32_t)payload_bytes;
    uint32_t least = (page_bytes - 12) * 32 / 255 - 23;
    uint32_t fitting = least + (uint32_t)((payload_bytes - least) % (page_bytes - 4));
    return fitting <= most ? fitting : least;
}

uint32_t page_overflow_count(uint32_t page_bytes, uint64_t payload_bytes, uint32_t local_bytes)
{
    return (uint32_t)((payload_bytes - local_bytes + page_bytes - 5) / (page_bytes - 4));
}

uint32_t page_lock_number(uint32_t page_bytes)
{
    return (1u << 30) / page_bytes + 1;
}

uint32_t page_number_behind(uint32_t page_bytes, uint32_t number)
{
    return number + 1 == page_lock_number(page_bytes) ? number + 2 : number + 1;
}

static bool is_interior(enum page_kind kind)
{
    return kind == PAGE_INDEX_INTERIOR || kind == PAGE_TABLE_INTERIOR;
}

static uint32_t header_bytes(const struct page *page)
{
    return is_interior(page->kind) ? 12 : 8;
}

void page_begin(struct page *page, unsigned char *data, uint32_t page_bytes, enum page_kind kind)
{
    *page = (struct page){
        .data = data, .page_bytes = page_bytes, .kind = kind, .content_at = page_bytes};
}

bool page_has_room(const struct page *page, uint32_t cell_bytes)
{
    return header_bytes(page) + 2 * (page->cell_count + 1) + cell_bytes <= page->content_at;
}

unsigned char *page_add(struct page *page, uint32_t cell_bytes)
{
    uint32_t pointer_at = header_bytes(page) + 2 * page->cell_count++;
    page->content_at -= cell_bytes;
    if (!page->data)
        return NULL;
    page->data[pointer_at] = (unsigned char)(page->content_at >> 8);
    page->data[pointer_at + 1] = (unsigned char)page->content_at;
    return page->data + page->content_at;
}

void page_take_back(struct page *page, uint32_t cell_bytes)
{
    page->cell_count--;
    page->content_at += cell_bytes;
}

void page_end(struct page *page, uint32_t right_child)
{
    if (!page->data)
        return;
    unsigned char *data = page->data;
    uint32_t gap_at = header_bytes(page) + 2 * page->cell_count;
    data[0] = (unsigned char)page->kind;
    data[1] = data[2] = 0; /* no free block */
    data[3] = (unsigned char)(page->cell_count >> 8);
    data[4] = (unsigned char)page->cell_count;
    data[5] = (unsigned char)(page->content_at >> 8); /* 65536 is written as 0 */
    data[6] = (unsigned char)page->content_at;
    data[7] = 0; /* no fragments */
    if (is_interior(page->kind))
        page_put_u32(data + 8, right_child);
    memset(data + gap_at, 0, page->content_at - gap_at);
}
