// The Secret Service of a Linux desktop through libsecret. The library is loaded at its first use. It is not required
// for building, and a machine without it lacks only this feature.
//
// A call runs on a separate thread with blocked signals, and the caller waits for it with a timeout. A call without a
// response is cancelled. If it ignores the cancellation, its thread is abandoned and the caller continues.
#ifndef CPLATFORM_SECRETSERVICE_H
#define CPLATFORM_SECRETSERVICE_H
#if defined(__linux__)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "cplatform.h"

enum cplatform_secret_result {
  CPLATFORM_SECRET_DONE,
  CPLATFORM_SECRET_ABSENT,      // the store has no such secret
  CPLATFORM_SECRET_LOCKED,      // it has it and was not unlocked
  CPLATFORM_SECRET_NO_LIBRARY,  // libsecret is not there, or lacks a function
  CPLATFORM_SECRET_NO_BUS,      // there is no session bus
  CPLATFORM_SECRET_FAILED,      // the store refused; the message is its own
  CPLATFORM_SECRET_TIMEOUT,     // no response
  CPLATFORM_SECRET_NO_MEMORY
};

// GError, SecretSchemaAttribute and SecretSchema with the layout of the headers of GLib and libsecret.
struct cplatform_g_error {
  unsigned int domain;
  int code;
  char *message;
};
struct cplatform_secret_schema {
  const char *name;
  int flags;
  struct {
    const char *name;
    int type;  // 0 is a string
  } attributes[32];
  int reserved;
  void *reserved_pointers[7];
};

// The used functions of libsecret and of its dependency GLib.
struct cplatform_secret_library {
  int (*store)(const struct cplatform_secret_schema *, void *attributes, const char *collection, const char *label,
               void *value, void *cancellable, struct cplatform_g_error **);
  void *(*lookup)(const struct cplatform_secret_schema *, void *attributes, void *cancellable,
                  struct cplatform_g_error **);
  int (*clear)(const struct cplatform_secret_schema *, void *attributes, void *cancellable,
               struct cplatform_g_error **);
  void *(*search)(const struct cplatform_secret_schema *, void *attributes, int flags, void *cancellable,
                  struct cplatform_g_error **);
  void *(*value_new)(const char *bytes, ssize_t count, const char *content_type);
  const char *(*value_get)(void *value, size_t *count);
  void (*value_unref)(void *value);
  void *(*table_new)(unsigned int (*hash)(const void *), int (*equal)(const void *, const void *));
  int (*table_insert)(void *table, void *key, void *value);
  void (*table_unref)(void *table);
  unsigned int (*string_hash)(const void *);
  int (*string_equal)(const void *, const void *);
  void *(*cancellable_new)(void);
  void (*cancel)(void *cancellable);
  void (*object_unref)(void *object);
  void (*list_free)(void *list, void (*free_one)(void *));
  void *(*bus_get)(int type, void *cancellable, struct cplatform_g_error **);
  void (*set_exit_on_close)(void *bus, int exits);
  int (*strip_error)(struct cplatform_g_error *);
  void (*error_free)(struct cplatform_g_error *);
};

// Loads libsecret permanently, because GLib cannot be unloaded. Returns 1 on success.
static inline int cplatform_secret_load(struct cplatform_secret_library *library) {
  void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return 0;
  struct {
    void *target;
    const char *name;
  } const functions[] = {
      {&library->store, "secret_password_storev_binary_sync"},
      {&library->lookup, "secret_password_lookupv_binary_sync"},
      {&library->clear, "secret_password_clearv_sync"},
      {&library->search, "secret_password_searchv_sync"},
      {&library->value_new, "secret_value_new"},
      {&library->value_get, "secret_value_get"},
      {&library->value_unref, "secret_value_unref"},
      {&library->table_new, "g_hash_table_new"},
      {&library->table_insert, "g_hash_table_insert"},
      {&library->table_unref, "g_hash_table_unref"},
      {&library->string_hash, "g_str_hash"},
      {&library->string_equal, "g_str_equal"},
      {&library->cancellable_new, "g_cancellable_new"},
      {&library->cancel, "g_cancellable_cancel"},
      {&library->object_unref, "g_object_unref"},
      {&library->list_free, "g_list_free_full"},
      {&library->bus_get, "g_bus_get_sync"},
      {&library->set_exit_on_close, "g_dbus_connection_set_exit_on_close"},
      {&library->strip_error, "g_dbus_error_strip_remote_error"},
      {&library->error_free, "g_error_free"},
  };
  for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
    void *function = dlsym(handle, functions[index].name);
    if (!function) return 0;
    memcpy(functions[index].target, &function, sizeof function);
  }
  return 1;
}

// Returns whether the library is installed. Does not check for a bus or a store.
static inline int cplatform_secret_is_available(void) {
  struct cplatform_secret_library library;
  return cplatform_secret_load(&library);
}

enum cplatform_secret_action { CPLATFORM_SECRET_STORE, CPLATFORM_SECRET_LOOKUP, CPLATFORM_SECRET_CLEAR };

// One call. The texts end with a zero byte.
struct cplatform_secret_call {
  enum cplatform_secret_action action;
  char vault[64];
  char slot[32];
  char label[512];
  char secret[128];
  size_t secret_count;
  enum cplatform_secret_result result;
  char message[512];
  // Shared by the two threads.
  struct cplatform_secret_library library;
  void *cancellable;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int is_connected, is_finished, is_abandoned;
};

// Allocates memory for a call, locked if the limits of the process allow it. Returns 0 if memory is exhausted.
static inline struct cplatform_secret_call *cplatform_secret_call_new(void) {
  struct cplatform_secret_call *call = (struct cplatform_secret_call *)calloc(1, sizeof *call);
  if (call) (void)mlock(call, sizeof *call);
  return call;
}

// Copies a text of `count` bytes into one of the fields. Returns 0 if the text is too long.
static inline int cplatform_secret_put(char *field, size_t room, const void *text, size_t count) {
  if (count >= room) return 0;
  memcpy(field, text, count);
  field[count] = 0;
  return 1;
}
static inline int cplatform_secret_put_names(
    struct cplatform_secret_call *call, const char *vault, const char *slot, const char *label) {
  return cplatform_secret_put(call->vault, sizeof call->vault, vault, strlen(vault)) &&
         cplatform_secret_put(call->slot, sizeof call->slot, slot, strlen(slot)) &&
         cplatform_secret_put(call->label, sizeof call->label, label, strlen(label));
}
static inline int cplatform_secret_put_secret(
    struct cplatform_secret_call *call, const void *secret, size_t count) {
  call->secret_count = count;
  return cplatform_secret_put(call->secret, sizeof call->secret, secret, count);
}
static inline const char *cplatform_secret_bytes(const struct cplatform_secret_call *call) { return call->secret; }
static inline const char *cplatform_secret_message(const struct cplatform_secret_call *call) { return call->message; }

// Wipes and frees a call.
static inline void cplatform_secret_call_free(struct cplatform_secret_call *call) {
  if (!call) return;
  cplatform_wipe(call, sizeof *call);
  (void)munlock(call, sizeof *call);
  free(call);
}

// Stores the message of a GLib error and frees the error.
static inline void cplatform_secret_take_error(
    struct cplatform_secret_call *call, struct cplatform_g_error *error, enum cplatform_secret_result result) {
  call->result = result;
  if (!error) return;
  call->library.strip_error(error);
  if (error->message) {
    strncpy(call->message, error->message, sizeof call->message - 1);
    call->message[sizeof call->message - 1] = 0;
  }
  call->library.error_free(error);
}

// Explains an empty result: the store has no such secret, or a collection stayed locked.
static inline void cplatform_secret_explain_nothing(
    struct cplatform_secret_call *call, const struct cplatform_secret_schema *schema, void *attributes) {
  struct cplatform_g_error *error = 0;
  void *items = call->library.search(schema, attributes, 0, call->cancellable, &error);
  call->result = items ? CPLATFORM_SECRET_LOCKED : CPLATFORM_SECRET_ABSENT;
  if (items) call->library.list_free(items, call->library.object_unref);
  if (error) cplatform_secret_take_error(call, error, CPLATFORM_SECRET_FAILED);
}

static inline void cplatform_secret_perform(
    struct cplatform_secret_call *call, const struct cplatform_secret_schema *schema, void *attributes) {
  const struct cplatform_secret_library *library = &call->library;
  struct cplatform_g_error *error = 0;
  switch (call->action) {
    case CPLATFORM_SECRET_STORE: {
      // Hexadecimal text, because stores support text best.
      void *value = library->value_new(call->secret, (ssize_t)call->secret_count, "text/plain");
      // Without a name, the default collection of the user is used.
      int is_stored = library->store(schema, attributes, 0, call->label, value, call->cancellable, &error);
      library->value_unref(value);
      if (is_stored && !error) {
        call->result = CPLATFORM_SECRET_DONE;
      } else {
        cplatform_secret_take_error(call, error, error ? CPLATFORM_SECRET_FAILED : CPLATFORM_SECRET_LOCKED);
      }
      return;
    }
    case CPLATFORM_SECRET_LOOKUP: {
      void *value = library->lookup(schema, attributes, call->cancellable, &error);
      if (value) {
        size_t count = 0;
        const char *bytes = library->value_get(value, &count);
        // A secret that is too long is not from this program. It is not copied, and its length reports the error.
        if (bytes && count < sizeof call->secret) memcpy(call->secret, bytes, count);
        call->secret_count = count;
        library->value_unref(value);  // which wipes it
        call->result = CPLATFORM_SECRET_DONE;
      } else if (error) {
        cplatform_secret_take_error(call, error, CPLATFORM_SECRET_FAILED);
      } else {
        cplatform_secret_explain_nothing(call, schema, attributes);
      }
      return;
    }
    case CPLATFORM_SECRET_CLEAR: {
      int is_cleared = library->clear(schema, attributes, call->cancellable, &error);
      if (error) {
        cplatform_secret_take_error(call, error, CPLATFORM_SECRET_FAILED);
      } else if (is_cleared) {
        call->result = CPLATFORM_SECRET_DONE;
      } else {
        cplatform_secret_explain_nothing(call, schema, attributes);
      }
      return;
    }
  }
}

static inline void cplatform_secret_mark(struct cplatform_secret_call *call, int *flag) {
  pthread_mutex_lock(&call->mutex);
  *flag = 1;
  pthread_cond_signal(&call->changed);
  pthread_mutex_unlock(&call->mutex);
}

static inline void cplatform_secret_end(struct cplatform_secret_call *call) {
  call->library.object_unref(call->cancellable);
  pthread_cond_destroy(&call->changed);
  pthread_mutex_destroy(&call->mutex);
}

// The thread of a call.
static inline void *cplatform_secret_thread(void *argument) {
  struct cplatform_secret_call *call = (struct cplatform_secret_call *)argument;
  struct cplatform_g_error *error = 0;
  void *bus = call->library.bus_get(2 /* G_BUS_TYPE_SESSION */, call->cancellable, &error);
  if (bus) {
    // By default GLib ends a process whose session ends.
    call->library.set_exit_on_close(bus, 0);
    cplatform_secret_mark(call, &call->is_connected);
    const struct cplatform_secret_schema schema = {
        .name = "org.fieldvault.Slot", .attributes = {{"vault", 0}, {"slot", 0}}};
    void *attributes = call->library.table_new(call->library.string_hash, call->library.string_equal);
    call->library.table_insert(attributes, (void *)"vault", call->vault);
    call->library.table_insert(attributes, (void *)"slot", call->slot);
    cplatform_secret_perform(call, &schema, attributes);
    call->library.table_unref(attributes);
    call->library.object_unref(bus);
  } else {
    cplatform_secret_take_error(call, error, CPLATFORM_SECRET_NO_BUS);
  }
  pthread_mutex_lock(&call->mutex);
  call->is_finished = 1;
  int is_abandoned = call->is_abandoned;
  pthread_cond_signal(&call->changed);
  pthread_mutex_unlock(&call->mutex);
  if (is_abandoned) {
    cplatform_secret_end(call);
    cplatform_secret_call_free(call);
  }
  return 0;
}

// Waits, with the mutex held, until one of two flags is set. Returns 0 after the timeout.
static inline int cplatform_secret_wait(
    struct cplatform_secret_call *call, const int *flag, const int *other, int seconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += seconds;
  while (!*flag && !*other) {
    if (pthread_cond_timedwait(&call->changed, &call->mutex, &end) == ETIMEDOUT) return *flag || *other;
  }
  return 1;
}

// Performs the call. The bus must respond within `bus_seconds`. The store, which may ask the user to unlock it, must
// respond within `store_seconds` after that. The caller owns the call again, unless `*is_lost` is set: then the caller
// must not touch it.
static inline enum cplatform_secret_result cplatform_secret_run(
    struct cplatform_secret_call *call, int bus_seconds, int store_seconds, int *is_lost) {
  *is_lost = 0;
  if (!cplatform_secret_load(&call->library)) return CPLATFORM_SECRET_NO_LIBRARY;
  call->cancellable = call->library.cancellable_new();
  pthread_mutex_init(&call->mutex, 0);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&call->changed, &attributes);
  pthread_condattr_destroy(&attributes);

  // The threads of GLib inherit the blocked signals. The handler of SIGPIPE is restored below.
  struct sigaction pipe_action;
  sigaction(SIGPIPE, 0, &pipe_action);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  int started = pthread_create(&thread, 0, cplatform_secret_thread, call);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (started != 0) {
    cplatform_secret_end(call);
    return CPLATFORM_SECRET_NO_MEMORY;
  }

  pthread_mutex_lock(&call->mutex);
  int in_time = cplatform_secret_wait(call, &call->is_connected, &call->is_finished, bus_seconds) &&
                cplatform_secret_wait(call, &call->is_finished, &call->is_finished, store_seconds);
  if (!in_time) {
    // Outside the mutex, because the cancelled call may need it.
    pthread_mutex_unlock(&call->mutex);
    call->library.cancel(call->cancellable);
    pthread_mutex_lock(&call->mutex);
    if (!cplatform_secret_wait(call, &call->is_finished, &call->is_finished, 2)) *is_lost = call->is_abandoned = 1;
  }
  pthread_mutex_unlock(&call->mutex);
  sigaction(SIGPIPE, &pipe_action, 0);
  if (*is_lost) {
    pthread_detach(thread);
    return CPLATFORM_SECRET_TIMEOUT;
  }
  pthread_join(thread, 0);
  cplatform_secret_end(call);
  return in_time || call->result == CPLATFORM_SECRET_DONE ? call->result : CPLATFORM_SECRET_TIMEOUT;
}

#endif
#endif
