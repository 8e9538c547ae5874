// Copies and fills. The kind is ignored: the addresses determine the direction.
#include "tools/record/fakecuda/core/copies.hpp"

#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

void copy_rows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
               std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row) {
    copy_memory(to + row * to_pitch, from + row * from_pitch, width);
  }
}

}  // namespace

FAKECUDA_API abi::Error cudaMemcpyAsync(void* to, const void* from, std::size_t size, int,
                                        abi::Handle) {
  copy_memory(to, from, size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemcpy(void* to, const void* from, std::size_t size, int) {
  finish_stream(*find_stream(0));
  copy_memory(to, from, size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t size,
                                            abi::Handle) {
  copy_memory(to, from, size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemcpy2DAsync(char* to, std::size_t to_pitch, const char* from,
                                          std::size_t from_pitch, std::size_t width,
                                          std::size_t height, int, abi::Handle) {
  copy_rows(to, to_pitch, from, from_pitch, width, height);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemcpy2D(char* to, std::size_t to_pitch, const char* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     int) {
  finish_stream(*find_stream(0));
  copy_rows(to, to_pitch, from, from_pitch, width, height);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemset(void* to, int value, std::size_t size) {
  fill_memory(to, value, size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemsetAsync(void* to, int value, std::size_t size, abi::Handle) {
  fill_memory(to, value, size);
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
