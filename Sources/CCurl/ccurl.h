// libcurl, and what of it Swift cannot call: functions with a variable number of arguments.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

typedef size_t (*ccurl_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);

typedef struct {
  int uses_proxies;
  int decompresses;
  // Have to stay until the request is over.
  struct curl_slist *headers;
  // -1 for a request without a body.
  long body_count;
  // For name, connection and encryption together; all other limits are the caller's.
  long connect_milliseconds;
  ccurl_callback on_header;
  ccurl_callback on_body;
  ccurl_callback on_read;
  ccurl_seek_callback on_seek;
  void *context;
} ccurl_request;

// Makes a handle ready for one request. 0, or curl's code.
static inline CURLcode ccurl_prepare(CURL *easy, const char *url, const char *method, const ccurl_request *request) {
  CURLcode code = CURLE_OK;
#define CCURL_SET(option, value) \
  if (code == CURLE_OK) code = curl_easy_setopt(easy, option, value)
  CCURL_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
  CCURL_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  CCURL_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  CCURL_SET(CURLOPT_PATH_AS_IS, 1L);  // what was checked is what is asked for
  CCURL_SET(CURLOPT_FOLLOWLOCATION, 0L);
  CCURL_SET(CURLOPT_HTTP09_ALLOWED, 0L);
  CCURL_SET(CURLOPT_NOSIGNAL, 1L);
  CCURL_SET(CURLOPT_TCP_KEEPALIVE, 1L);
  if (request->decompresses) CCURL_SET(CURLOPT_ACCEPT_ENCODING, "");  // all that this libcurl can
  CCURL_SET(CURLOPT_CONNECTTIMEOUT_MS, request->connect_milliseconds);
  if (!request->uses_proxies) CCURL_SET(CURLOPT_PROXY, "");
#if LIBCURL_VERSION_NUM >= 0x075700
  // Ending a request does not wait for a name server that does not answer.
  CCURL_SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  if (!strcmp(method, "HEAD")) CCURL_SET(CURLOPT_NOBODY, 1L);
  if (request->body_count >= 0) {
    // Written as a POST with another name, so that a body is read and has a length, whatever the method is.
    CCURL_SET(CURLOPT_POST, 1L);
    CCURL_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_count);
    CCURL_SET(CURLOPT_READFUNCTION, request->on_read);
    CCURL_SET(CURLOPT_READDATA, request->context);
    CCURL_SET(CURLOPT_SEEKFUNCTION, request->on_seek);
    CCURL_SET(CURLOPT_SEEKDATA, request->context);
    CCURL_SET(CURLOPT_UPLOAD_BUFFERSIZE, 262144L);
  }
  if (strcmp(method, "HEAD")) CCURL_SET(CURLOPT_CUSTOMREQUEST, method);
  CCURL_SET(CURLOPT_HTTPHEADER, request->headers);
  CCURL_SET(CURLOPT_HEADERFUNCTION, request->on_header);
  CCURL_SET(CURLOPT_HEADERDATA, request->context);
  CCURL_SET(CURLOPT_WRITEFUNCTION, request->on_body);
  CCURL_SET(CURLOPT_WRITEDATA, request->context);
  CCURL_SET(CURLOPT_PRIVATE, request->context);
#undef CCURL_SET
  return code;
}

// The context of the next request that is over, with curl's code for how; NULL when there is none.
static inline void *ccurl_next_done(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    char *context = 0;
    *result = message->data.result;
    if (curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context) == CURLE_OK) return context;
  }
  return 0;
}

// No signal reaches the calling thread: the program's own handlers run elsewhere, and a connection that the other side
// closed is an error of the write (SIGPIPE is for the thread that writes).
static inline void ccurl_block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
}

#endif
