// Fake nvrtc: every program compiles, to a name under which it is kept
// (kernels/runtime_programs.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/kernels/runtime_programs.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0;

// What NVIDIA's library of the release that is reported (versions.hpp) answers, as read from it:
// libnvrtc of 13.2 and of 12.8, asked by nvrtcGetSupportedArchs.
#if FAKECUDA_MAJOR >= 13
constexpr std::array kArchitectures{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
#else
constexpr std::array kArchitectures{50, 52, 53, 60, 61, 62,  70,  72, 75,
                                    80, 86, 87, 89, 90, 100, 101, 120};
#endif

struct Program {
  RuntimeProgram program;
  std::string image;  ///< once it is compiled
};

int put_image(const Program* program, char* code) {
  std::memset(code, 0, kImageSize);
  program->image.copy(code, kImageSize - 1);
  return kSuccess;
}

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

FAKECUDA_API int nvrtcCreateProgram(Program** program, const char* source, const char* file,
                                    int headers, const char* const* texts,
                                    const char* const* names) {
  *program = new Program;
  RuntimeProgram& kept = (*program)->program;
  kept.source = source;
  kept.file = file == nullptr ? "default_program" : file;
  for (int i = 0; i < headers; ++i) {
    kept.headers.emplace_back(names[i], texts[i]);
  }
  return kSuccess;
}

FAKECUDA_API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

FAKECUDA_API int nvrtcAddNameExpression(Program* program, const char* expression) {
  program->program.expressions.emplace_back(expression);
  return kSuccess;
}

FAKECUDA_API int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  program->program.options.assign(options, options + count);
  program->image = keep_program(program->program);
  return kSuccess;
}

FAKECUDA_API int nvrtcGetPTXSize(const Program*, std::size_t* size) {
  *size = kImageSize;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetCUBINSize(const Program*, std::size_t* size) {
  *size = kImageSize;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetPTX(const Program* program, char* code) {
  return put_image(program, code);
}

FAKECUDA_API int nvrtcGetCUBIN(const Program* program, char* code) {
  return put_image(program, code);
}

FAKECUDA_API int nvrtcGetProgramLogSize(const Program*, std::size_t* size) {
  *size = 1;
  return kSuccess;
}

FAKECUDA_API int nvrtcGetProgramLog(const Program*, char* log) {
  *log = '\0';
  return kSuccess;
}

// A kernel keeps its name of the source, by which the driver's fake finds it in the program.
FAKECUDA_API int nvrtcGetLoweredName(const Program* program, const char* expression,
                                     const char** name) {
  const auto& expressions = program->program.expressions;
  const auto found = std::ranges::find(expressions, expression);
  *name = found == expressions.end() ? expression : found->c_str();
  return kSuccess;
}

FAKECUDA_API const char* nvrtcGetErrorString(int) {
  return "error of the fake nvrtc";
}

}  // namespace highwater::fakecuda
