// Whole messages (wire.hpp) over a socket.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda::wire {

/// False if the other side is gone.
inline bool send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

inline bool receive_bytes(int socket, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

inline bool send_message(int socket, std::string_view message) {
  std::string framed;
  put_text(framed, message);
  return message.size() <= kLongestMessage && send_bytes(socket, framed);
}

/// Nothing if the other side is gone, or sends nonsense.
inline std::optional<std::string> receive_message(int socket) {
  std::uint32_t size = 0;
  if (!receive_bytes(socket, reinterpret_cast<char*>(&size), sizeof size) ||
      size > kLongestMessage) {
    return std::nullopt;
  }
  std::string message(size, '\0');
  return receive_bytes(socket, message.data(), size) ? std::optional(message) : std::nullopt;
}

}  // namespace highwater::fakecuda::wire
