# SPDX-License-Identifier: MIT
"""Reads a pack as sqlpack(5) describes it, with nothing of sqlpack: checks every hash and content.

usage: format.py PACK MANUAL

Prints the root digest that it computed. Ends with 77 where Python does not find libxxhash.
"""
import ctypes
import sqlite3
import stat
import struct
import sys
import zlib


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


try:
    xxhash = ctypes.CDLL("libxxhash.so.0")
except OSError:
    sys.exit(77)
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_128bits.restype = Hash128
xxhash.XXH3_64bits.argtypes = xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def hash128(data):
    value = xxhash.XXH3_128bits(data, len(data))
    return value.high << 64 | value.low


def hash64(data):
    return struct.unpack("<q", struct.pack("<Q", xxhash.XXH3_64bits(data, len(data))))[0]


def digest(data):
    return hash128(data).to_bytes(16, "big")


def fields(*values):
    """The bytes that a row is hashed as."""
    row = b""
    for value in values:
        if value is None:
            row += b"n"
        elif isinstance(value, int):
            row += b"i" + struct.pack("<q", value)
        else:
            row += b"b" + struct.pack("<Q", len(value)) + value
    return row


def seal_fields(entry):
    return fields(entry["id"], entry["name"], entry["mode"], entry["mtime"], entry["mtime_ns"],
                  entry["sz"], entry["uid"], entry["gid"], entry["rdev"] or 0,
                  entry["link"] or 0, entry["xattr"], entry["digest"])


def root_fields(entry, target):
    return fields(entry["name"], entry["mode"], entry["rdev"] or 0, entry["sz"], entry["digest"],
                  target, entry["mtime"], entry["mtime_ns"], entry["uid"], entry["gid"],
                  entry["xattr"])


def check(condition, *what):
    if not condition:
        sys.exit("format.py: " + " ".join(map(str, what)))


def check_example(manual):
    """The worked example of the manual."""
    entry = {"id": 1, "name": b"a.txt", "mode": 0o100644, "mtime": 1700000000,
             "mtime_ns": 123456789, "sz": 6, "uid": 1000, "gid": 1000, "rdev": None, "link": None,
             "xattr": None, "digest": digest(b"hello\n")}
    text = open(manual, encoding="utf-8").read()
    check("digest  " + entry["digest"].hex() in text, "the example's digest")
    check("seal    %d" % hash64(seal_fields(entry)) in text, "the example's seal")
    check("part    %032x" % hash128(root_fields(entry, None)) in text, "the example's part")
    dump = "".join(word for line in text.splitlines() for word in line.split()
                   if len(word) == 2 and set(word) <= set("0123456789abcdef"))
    check(seal_fields(entry).hex() in dump, "the example's bytes of the seal")
    check(root_fields(entry, None).hex() in dump, "the example's bytes of the root digest")


def inflate(data, size):
    return data if len(data) == size else zlib.decompress(data)


def content(pack, row):
    if row["data"] is not None:
        return inflate(row["data"], row["sz"])
    whole = bytearray(row["sz"])
    for offset, size, data in pack.execute(
            "SELECT offset, len, data FROM sqlpack_chunk WHERE id = ?", (row["id"],)):
        whole[offset:offset + size] = inflate(data, size)
    return bytes(whole)


def check_content(pack, row, entry, names):
    """Whether what sqlar holds is what sqlpack_stat describes; gives the target."""
    kind = stat.S_IFMT(entry["mode"])
    if entry["link"]:
        first = names[entry["link"]]
        check(row["mode"] == 0o120777 and row["mtime"] == -1, row["name"], "is no link row")
        folder = row["name"].split(b"/")[:-1]
        for part in row["data"].split(b"/"):
            folder = folder[:-1] if part == b".." else folder + [part]
        check(b"/".join(folder) == first, row["name"], "does not lead to", first)
        return first
    check(row["mode"] == entry["mode"] and row["sz"] == entry["sz"], row["name"], "differs")
    check(row["mtime"] == (-1 if kind == stat.S_IFLNK else entry["mtime"]), row["name"], "mtime")
    if kind == stat.S_IFREG:
        check(digest(content(pack, row)) == entry["digest"], row["name"], "content")
    elif kind == stat.S_IFLNK:
        check(digest(row["data"]) == entry["digest"], row["name"], "target")
        return row["data"]
    elif kind == stat.S_IFDIR:
        check(row["data"] is None and entry["digest"] is None, row["name"], "folder")
    else:
        check(row["data"] == b"" and entry["digest"] is None, row["name"], "special file")
    return None


def check_xattr(blob):
    last = b""
    while blob:
        name, blob = blob.split(b"\0", 1)
        size = struct.unpack("<I", blob[:4])[0]
        check(last < name and len(blob) >= 4 + size, "extended attributes", name)
        blob, last = blob[4 + size:], name


def check_info(pack, root):
    info = dict(pack.execute("SELECT key, value FROM sqlpack_info"))
    info = {key.decode(): value for key, value in info.items()}
    check(info["format"] == 1 and info["hash"] == b"xxh3-128", "format, hash")
    check(info["root_digest"] == root, "root_digest")
    for key, query in {
            "owner_digest": "SELECT kind, id, name FROM sqlpack_owner ORDER BY rowid",
            "loss_digest": "SELECT name, what, os_errno FROM sqlpack_loss ORDER BY rowid",
            "seal": "SELECT key, value FROM sqlpack_info WHERE key <> 'seal' ORDER BY key"}.items():
        rows = b"".join(fields(*row) for row in pack.execute(query))
        check(info[key] == digest(rows), key)
    known = {"format", "hash", "root_digest", "owner_digest", "loss_digest", "seal",
             "file_count", "folder_count", "symlink_count", "special_count", "hard_link_count",
             "content_bytes", "tree_allocated_bytes"}
    check(known <= set(info) <= known | {"stored_bytes"}, "keys of sqlpack_info", set(info) ^ known)
    return info


def main():
    pack = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    pack.text_factory = bytes
    pack.row_factory = sqlite3.Row
    check_example(sys.argv[2])
    names = dict(pack.execute("SELECT id, name FROM sqlar").fetchall())
    names[0] = b""
    total, counts = 0, {}
    for entry in pack.execute("SELECT * FROM sqlpack_stat").fetchall():
        entry = dict(entry, name=names.pop(entry["id"]) if not entry["link"]
                     else names[entry["id"]])
        check(hash64(seal_fields(entry)) == entry["seal"], "the seal of", entry["name"])
        check_xattr(entry["xattr"] or b"")
        names[entry["id"]] = entry["name"]
        row = pack.execute("SELECT * FROM sqlar WHERE id = ?", (entry["id"],)).fetchone()
        target = check_content(pack, row, entry, names) if entry["id"] else None
        total += hash128(root_fields(entry, target))
        kind = "link" if entry["link"] else stat.S_IFMT(entry["mode"])
        counts[kind] = counts.get(kind, 0) + (entry["id"] != 0)
    root = (total % 2**128).to_bytes(16, "big")
    info = check_info(pack, root)
    check(info["file_count"] == counts.get(stat.S_IFREG, 0), "file_count")
    check(info["folder_count"] == counts.get(stat.S_IFDIR, 0), "folder_count")
    check(info["symlink_count"] == counts.get(stat.S_IFLNK, 0), "symlink_count")
    check(info["hard_link_count"] == counts.get("link", 0), "hard_link_count")
    print(root.hex())


main()
