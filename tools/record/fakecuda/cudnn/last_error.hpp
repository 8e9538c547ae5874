// What cudnnGetLastErrorString() says: the real library's message for its last refusal.
#pragma once

#include <string>

namespace highwater::fakecuda {

/// Of this thread, as in cuDNN.
inline std::string& last_error_text() {
  thread_local std::string text;
  return text;
}

inline void set_last_error(const std::string& text) {
  last_error_text() = text;
}

}  // namespace highwater::fakecuda
