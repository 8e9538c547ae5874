// Answers each function of the CUDA driver (symbols/cuda.def) with "no device". driver.cpp
// overrides the few that need another answer.
#include "tools/record/fakecuda/api.hpp"

namespace {

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

}  // namespace

#define NO_DEVICE(name)                   \
  FAKECUDA_API [[gnu::weak]] int name() { \
    return kNoDevice;                     \
  }
#define PLAIN(name) NO_DEVICE(name)
#define WORK(name) NO_DEVICE(name)
#define STUB(name) NO_DEVICE(name)
#define HANDLE(name, ...) NO_DEVICE(name)
#define OBJECT(name, ...) NO_DEVICE(name)
#define ZERO_32(name, ...) NO_DEVICE(name)
#define ZERO_64(name, ...) NO_DEVICE(name)

#include "tools/record/fakecuda/symbols/cuda.def"
