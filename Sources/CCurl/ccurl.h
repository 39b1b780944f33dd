// libcurl, and what of it Swift cannot call: functions with a variable number of arguments.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <signal.h>
#include <stddef.h>

typedef size_t (*ccurl_callback)(char *bytes, size_t size, size_t count, void *context);

// Makes a handle ready for one request. `connect_milliseconds` is for name, connection and encryption together; all
// other limits are the caller's. The headers have to stay until the request is over, the body is copied. 0, or curl's
// code.
static inline CURLcode ccurl_prepare(
    CURL *easy, const char *url, int uses_proxies, struct curl_slist *headers, const char *body, size_t body_count,
    long connect_milliseconds, ccurl_callback on_header, ccurl_callback on_body, void *context) {
  CURLcode code = CURLE_OK;
#define CCURL_SET(option, value) \
  if (code == CURLE_OK) code = curl_easy_setopt(easy, option, value)
  CCURL_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
  CCURL_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  CCURL_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  CCURL_SET(CURLOPT_FOLLOWLOCATION, 0L);
  CCURL_SET(CURLOPT_HTTP09_ALLOWED, 0L);
  CCURL_SET(CURLOPT_NOSIGNAL, 1L);
  CCURL_SET(CURLOPT_TCP_KEEPALIVE, 1L);
  CCURL_SET(CURLOPT_ACCEPT_ENCODING, "");  // all that this libcurl can
  CCURL_SET(CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds);
  if (!uses_proxies) CCURL_SET(CURLOPT_PROXY, "");
#if LIBCURL_VERSION_NUM >= 0x075700
  // Ending a request does not wait for a name server that does not answer.
  CCURL_SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  if (body) {
    CCURL_SET(CURLOPT_POST, 1L);
    CCURL_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_count);
    CCURL_SET(CURLOPT_COPYPOSTFIELDS, body);
  }
  CCURL_SET(CURLOPT_HTTPHEADER, headers);
  CCURL_SET(CURLOPT_HEADERFUNCTION, on_header);
  CCURL_SET(CURLOPT_HEADERDATA, context);
  CCURL_SET(CURLOPT_WRITEFUNCTION, on_body);
  CCURL_SET(CURLOPT_WRITEDATA, context);
  CCURL_SET(CURLOPT_PRIVATE, context);
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
