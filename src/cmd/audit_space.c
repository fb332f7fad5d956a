/* SPDX-License-Identifier: MIT */
/* The report of audit on a pack: where its bytes are, and whether that was foretold. */
#include <stdio.h>

#include "cmd/audit.h"

static void part(struct out *out, const char *key, const char *label, uint64_t bytes,
                 const struct sqlpack_audit_space *space)
{
    char text[128];
    snprintf(text, sizeof(text), "%-10s %6s", text_bytes(bytes).text,
             text_percent(audit_percent((double)bytes, (double)space->pack_bytes)).text);
    out_bytes(out, key, NULL, bytes);
    out_text(out, NULL, label, text);
}

static void report_tables(struct out *out, const struct sqlpack_audit_space *space)
{
    out_table_begin(out, "tables", "\ntables and indexes");
    for (size_t i = 0; i < space->table_count; i++) {
        const struct sqlpack_audit_table *table = &space->tables[i];
        out_row_begin(out);
        out_name(out, "name", "name", table->name);
        out_count(out, "row_count", "rows", table->row_count);
        out_count(out, "page_count", "pages", table->page_count);
        out_count(out, "overflow_count", "in chains", table->overflow_count);
        out_bytes(out, "payload_bytes", "records", table->payload_bytes);
        out_bytes(out, "unused_bytes", "unused", table->unused_bytes);
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_forecast(struct out *out, const struct sqlpack_audit_space *space,
                            const struct sqlpack_audit_result *tree)
{
    char text[160];
    int64_t miss = (int64_t)(tree->pack_bytes - space->pack_bytes);
    snprintf(text, sizeof(text), "%s (%+.2f%%)", text_bytes(tree->pack_bytes).text,
             audit_percent((double)miss, (double)space->pack_bytes));
    out_text(out, NULL, "foretold", text);
    out_bytes(out, "forecast_bytes", NULL, tree->pack_bytes);
    out_bytes(out, "forecast_error_bytes", NULL, audit_chosen(tree)->error_bytes);
}

void audit_space(struct out *out, const struct sqlpack_audit_space *space,
                 const struct sqlpack_audit_result *tree)
{
    int64_t saved = (int64_t)(space->tree_allocated_bytes - space->pack_allocated_bytes);
    out_begin(out);
    out_bytes(out, "pack_bytes", "pack", space->pack_bytes);
    out_bytes(out, "pack_allocated_bytes", "on disk", space->pack_allocated_bytes);
    if (tree)
        report_forecast(out, space, tree);
    out_bytes(out, "page_bytes", "page size", space->page_bytes);
    out_bytes(out, "content_bytes", NULL, space->content_bytes);
    part(out, "stored_bytes", "  contents", space->stored_bytes, space);
    part(out, "metadata_bytes", "  metadata", space->metadata_bytes, space);
    part(out, "name_bytes", "  index of names", space->name_bytes, space);
    part(out, "format_bytes", "  page format", space->format_bytes, space);
    part(out, "unused_bytes", "  unused room", space->unused_bytes, space);
    part(out, "free_bytes", "  free pages", space->free_bytes, space);
    out_bytes(out, "tree_allocated_bytes", space->tree_allocated_bytes ? "tree on disk" : NULL,
              space->tree_allocated_bytes);
    if (space->tree_allocated_bytes)
        out_figure(out, "saved", audit_signed(saved).text);
    report_tables(out, space);
    out_end(out);
}
