// Fake nvrtc: every program compiles, to nothing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0;
constexpr std::size_t kCodeSize = 16;

// What NVIDIA's library of the release that is reported (versions.hpp) answers, as read from it:
// libnvrtc of 13.2 and of 12.8, asked by nvrtcGetSupportedArchs.
#if FAKECUDA_MAJOR >= 13
constexpr std::array kArchitectures{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
#else
constexpr std::array kArchitectures{50, 52, 53, 60, 61, 62,  70,  72, 75,
                                    80, 86, 87, 89, 90, 100, 101, 120};
#endif

struct Program {
  int unused = 0;
};

}  // namespace

FAKECUDA_API int nvrtcVersion(int* major, int* minor) {
  *major = kRuntimeVersion / 1000;
  *minor = kRuntimeVersion % 1000 / 10;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(kArchitectures.size());
  return kSuccess;
}

FAKECUDA_API int nvrtcGetSupportedArchs(int* architectures) {
  std::ranges::copy(kArchitectures, architectures);
  return kSuccess;
}

FAKECUDA_API int nvrtcCreateProgram(Program** program, const char*, const char*, int, const void*,
                                    const void*) {
  *program = new Program;
  return kSuccess;
}

FAKECUDA_API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetPTXSize(const Program*, std::size_t* size) {
  *size = kCodeSize;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetCUBINSize(const Program*, std::size_t* size) {
  *size = kCodeSize;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetPTX(const Program*, char* code) {
  std::memset(code, 0, kCodeSize);
  return kSuccess;
}

FAKECUDA_API int nvrtcGetCUBIN(const Program*, char* code) {
  std::memset(code, 0, kCodeSize);
  return kSuccess;
}

FAKECUDA_API int nvrtcGetProgramLogSize(const Program*, std::size_t* size) {
  *size = 1;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetProgramLog(const Program*, char* log) {
  *log = '\0';
  return kSuccess;
}

FAKECUDA_API int nvrtcGetLoweredName(const Program*, const char*, const char** name) {
  *name = "fake_kernel";
  return kSuccess;
}

FAKECUDA_API const char* nvrtcGetErrorString(int) {
  return "error of the fake nvrtc";
}

}  // namespace highwater::fakecuda
