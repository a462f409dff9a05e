#include "app/curl_library.hpp"

#include <dlfcn.h>

namespace tidemark {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

} // namespace

// Never unloaded: its own libraries leave handlers for the end of the process.
bool curl_library::load() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && find(library, "curl_easy_init", easy_init)
         && find(library, "curl_easy_cleanup", easy_cleanup)
         && find(library, "curl_easy_setopt", easy_setopt)
         && find(library, "curl_easy_getinfo", easy_getinfo)
         && find(library, "curl_easy_perform", easy_perform)
         && find(library, "curl_easy_strerror", easy_strerror)
         && find(library, "curl_slist_append", slist_append)
         && find(library, "curl_slist_free_all", slist_free_all)
         && find(library, "curl_multi_init", multi_init)
         && find(library, "curl_multi_cleanup", multi_cleanup)
         && find(library, "curl_multi_add_handle", multi_add_handle)
         && find(library, "curl_multi_remove_handle", multi_remove_handle)
         && find(library, "curl_multi_perform", multi_perform)
         && find(library, "curl_multi_info_read", multi_info_read)
         && find(library, "curl_multi_poll", multi_poll)
         && find(library, "curl_multi_wakeup", multi_wakeup) && find(library, "curl_url", url)
         && find(library, "curl_url_cleanup", url_cleanup) && find(library, "curl_url_set", url_set)
         && find(library, "curl_url_get", url_get)
         && find(library, "curl_url_strerror", url_strerror) && find(library, "curl_free", free);
}

expected<const curl_library*> curl_library::instance() {
  static curl_library only;
  static const bool is_there = only.load();
  if (!is_there)
    return fail(errc::unavailable, "this needs libcurl (libcurl.so.4), which cannot be "
                                   "loaded: install it (Debian: libcurl4)");
  return &only;
}

} // namespace tidemark
