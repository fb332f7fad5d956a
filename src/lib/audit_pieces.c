/* SPDX-License-Identifier: MIT */
/* Files that a pack holds in pieces: where their data lie, how they are cut, what a piece takes. */
#include <errno.h>
#include <unistd.h>

#include "lib/audit.h"

#define ROW_BYTES 18 /* of a row of sqlar beside name and content, as they usually are */

bool run_next(int fd, uint64_t at, uint64_t size, struct data_run *ret_run)
{
    if (at >= size)
        return false;
    off_t data = fd < 0 ? (off_t)at : lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0 && errno != ENXIO)
        data = (off_t)at;
    if (data < 0 || (uint64_t)data >= size)
        return false;
    off_t hole = fd < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    ret_run->from = (uint64_t)data;
    ret_run->to = hole > data && (uint64_t)hole < size ? (uint64_t)hole : size;
    return true;
}

struct data_run run_cut(struct data_run *run)
{
    struct data_run piece = *run;
    if (piece.to - piece.from > CHUNK_BYTES)
        piece.to = piece.from + CHUNK_BYTES;
    run->from = piece.to;
    return piece;
}

struct row_place place_row(uint32_t page_bytes, size_t name_bytes, uint64_t content_bytes)
{
    uint64_t payload = ROW_BYTES + name_bytes + content_bytes;
    uint32_t local = page_local_bytes(page_bytes, false, payload);
    struct row_place place = {.chain = page_overflow_count(page_bytes, payload, local)};
    place.leaf_bytes = local + page_varint_bytes(payload) + 3 + 2 + (place.chain ? 4 : 0);
    return place;
}

double piece_cost(uint32_t page_bytes, uint64_t stored_bytes, uint32_t *room)
{
    struct row_place place = place_row(page_bytes, 0, stored_bytes);
    double leaf_bytes = 0;
    if (place.leaf_bytes > *room) {
        leaf_bytes = *room + 8;
        *room = page_bytes - 8;
    }
    *room -= place.leaf_bytes;
    return (double)place.chain * page_bytes + leaf_bytes + place.leaf_bytes;
}
