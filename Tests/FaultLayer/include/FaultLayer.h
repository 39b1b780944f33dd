#ifndef FAULT_LAYER_H
#define FAULT_LAYER_H

// A library that is put under a process with LD_PRELOAD, Linux only. It counts the operations that change files
// inside one folder, and lets one of them fail or be the last before a power cut.
//
//   FAULT_ROOT        the folder that is watched
//   FAULT_MODE        count, powercut or fail
//   FAULT_COUNT_FILE  where the number of operations is written at exit
//   FAULT_AT          the number of the operation, from 1
//   FAULT_SEED        powercut: what is lost
//   FAULT_SPARE       powercut: an empty folder outside the root, on the same file system
//   FAULT_ONLY        sync: only those operations are counted
//   FAULT_ERRNO       fail: EIO or ENOSPC
//   FAULT_STICKY      fail: 1 when the later operations fail too
//   FAULT_LOG         a file that takes one line for each operation
//
// Files named *-shm are left out: they are shared memory, and a power cut removes them.

#endif
