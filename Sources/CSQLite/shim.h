#pragma once
#include <sqlite3.h>

// The library copies what is bound: its marks for that are casts, which do not reach Swift.

static inline int tidemark_bind_text(sqlite3_stmt *statement, int index, const void *text, int byteCount) {
  return sqlite3_bind_text(statement, index, byteCount == 0 ? "" : text, byteCount, SQLITE_TRANSIENT);
}

static inline int tidemark_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int byteCount) {
  return byteCount == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                        : sqlite3_bind_blob(statement, index, bytes, byteCount, SQLITE_TRANSIENT);
}
