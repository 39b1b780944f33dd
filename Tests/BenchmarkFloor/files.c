// Encrypting a file with libsodium and nothing else: one stream, messages of 64 KiB, the same calls of the system.
#include "internal.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#define MESSAGE 65536
#define OVERHEAD crypto_secretstream_xchacha20poly1305_ABYTES
#define HEADER crypto_secretstream_xchacha20poly1305_HEADERBYTES

static ssize_t read_whole(int file, unsigned char *bytes, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t part = read(file, bytes + done, count - done);
    if (part < 0) return -1;
    if (part == 0) break;
    done += (size_t)part;
  }
  return (ssize_t)done;
}

int floor_seal_file(const char *from, const char *to, const unsigned char key[32]) {
  static unsigned char plain[MESSAGE], sealed[MESSAGE + OVERHEAD], header[HEADER];
  crypto_secretstream_xchacha20poly1305_state state;
  if (sodium_init() < 0) return 1;
  int source = open(from, O_RDONLY | O_CLOEXEC), target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (source < 0 || target < 0) return 1;
  crypto_secretstream_xchacha20poly1305_init_push(&state, header, key);
  int failed = write(target, header, HEADER) != HEADER;
  for (ssize_t count; !failed && (count = read_whole(source, plain, MESSAGE)) > 0;) {
    crypto_secretstream_xchacha20poly1305_push(&state, sealed, 0, plain, (size_t)count, 0, 0, 0);
    failed = write(target, sealed, (size_t)count + OVERHEAD) != count + OVERHEAD;
  }
  if (!failed) {
    crypto_secretstream_xchacha20poly1305_push(
        &state, sealed, 0, plain, 0, 0, 0, crypto_secretstream_xchacha20poly1305_TAG_FINAL);
    failed = write(target, sealed, OVERHEAD) != OVERHEAD || fsync(target) != 0;
  }
  close(source);
  close(target);
  return failed;
}

int floor_open_file(const char *from, const unsigned char key[32], int64_t *count) {
  static unsigned char plain[MESSAGE], sealed[MESSAGE + OVERHEAD], header[HEADER];
  crypto_secretstream_xchacha20poly1305_state state;
  int source = open(from, O_RDONLY | O_CLOEXEC);
  if (source < 0) return 1;
  int failed = read_whole(source, header, HEADER) != HEADER ||
               crypto_secretstream_xchacha20poly1305_init_pull(&state, header, key) != 0;
  unsigned char tag = 0;
  *count = 0;
  for (ssize_t part; !failed && (part = read_whole(source, sealed, sizeof sealed)) > 0;) {
    unsigned long long length = 0;
    failed = crypto_secretstream_xchacha20poly1305_pull(&state, plain, &length, &tag, sealed, (size_t)part, 0, 0) != 0;
    *count += (int64_t)length;
  }
  close(source);
  return failed || tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL;
}

int floor_seal_memory(int64_t count, const unsigned char key[32]) {
  static unsigned char plain[MESSAGE], sealed[MESSAGE + OVERHEAD], header[HEADER];
  crypto_secretstream_xchacha20poly1305_state state;
  crypto_secretstream_xchacha20poly1305_init_push(&state, header, key);
  for (int64_t done = 0; done < count; done += MESSAGE)
    crypto_secretstream_xchacha20poly1305_push(&state, sealed, 0, plain, MESSAGE, 0, 0, 0);
  return 0;
}
