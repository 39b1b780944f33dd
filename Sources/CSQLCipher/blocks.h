// Blocks of memory that SQLite allocates and frees repeatedly.
//
// A statement that fires triggers notes the changed pages in a statement journal. SQLite stores the journal in memory
// in blocks of 1,024 bytes: about fifty for one edited record, allocated one by one and freed together at its end. The
// C library caches only a few blocks of a size and splits larger ones for the rest each time. Each thread therefore
// caches the blocks here.
#ifndef CSQLCIPHER_BLOCKS_H
#define CSQLCIPHER_BLOCKS_H

#include <pthread.h>
#include <sqlcipher/sqlite3.h>

enum { csqlcipher_block_size = 1024, csqlcipher_spare_limit = 64 };

typedef struct csqlcipher_block {
  struct csqlcipher_block *next;
} csqlcipher_block;

// The default allocator of SQLite, the block size that it reports, and the key that detects the end of a thread. Each
// variable has an initial value, because Swift, which compiles this header, leaves variables without one undefined.
static sqlite3_mem_methods csqlcipher_system_memory = {0};
static int csqlcipher_reported_size = 0;
static pthread_key_t csqlcipher_thread_end = 0;

static _Thread_local struct {
  csqlcipher_block *first;
  int count;
} csqlcipher_spares = {0, 0};

static inline void *csqlcipher_take(int size) {
  csqlcipher_block *block = csqlcipher_spares.first;
  if (size != csqlcipher_block_size || !block) return csqlcipher_system_memory.xMalloc(size);
  csqlcipher_spares.first = block->next;
  csqlcipher_spares.count--;
  return block;
}

static inline void csqlcipher_give_back(void *memory) {
  if (!memory || csqlcipher_spares.count >= csqlcipher_spare_limit ||
      csqlcipher_system_memory.xSize(memory) != csqlcipher_reported_size ||
      (!csqlcipher_spares.first && pthread_setspecific(csqlcipher_thread_end, &csqlcipher_spares))) {
    csqlcipher_system_memory.xFree(memory);
    return;
  }
  csqlcipher_block *block = memory;
  block->next = csqlcipher_spares.first;
  csqlcipher_spares.first = block;
  csqlcipher_spares.count++;
}

static inline void csqlcipher_free_spares(void *thread) {
  (void)thread;
  while (csqlcipher_spares.first) {
    csqlcipher_block *block = csqlcipher_spares.first;
    csqlcipher_spares.first = block->next;
    csqlcipher_system_memory.xFree(block);
  }
  csqlcipher_spares.count = 0;
}

// Must run once, before sqlite3_initialize. If it fails, SQLite uses the C library directly.
static inline int csqlcipher_keep_spare_blocks(void) {
  int result = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &csqlcipher_system_memory);
  if (result != SQLITE_OK) return result;
  void *block = csqlcipher_system_memory.xMalloc(csqlcipher_block_size);
  if (!block) return SQLITE_NOMEM;
  csqlcipher_reported_size = csqlcipher_system_memory.xSize(block);
  csqlcipher_system_memory.xFree(block);
  if (pthread_key_create(&csqlcipher_thread_end, csqlcipher_free_spares)) return SQLITE_NOMEM;
  sqlite3_mem_methods methods = csqlcipher_system_memory;
  methods.xMalloc = csqlcipher_take;
  methods.xFree = csqlcipher_give_back;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

#endif
