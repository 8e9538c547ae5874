#include "tools/record/fakecuda/cudart/errors.hpp"

#include <array>
#include <utility>

#include "tools/record/fakecuda/api.hpp"

namespace highwater::fakecuda {
namespace {

struct ErrorText {
  abi::Error error;
  const char *name, *text;
};

constexpr std::array kTexts = {
    ErrorText{abi::kSuccess, "cudaSuccess", "no error"},
    ErrorText{abi::kErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    ErrorText{abi::kErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    ErrorText{abi::kErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    ErrorText{abi::kErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    ErrorText{abi::kErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    ErrorText{abi::kErrorMissingConfiguration, "cudaErrorMissingConfiguration",
              "__global__ function call is not configured"},
    ErrorText{abi::kErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
              "invalid resource handle"},
    ErrorText{abi::kErrorIllegalState, "cudaErrorIllegalState",
              "the operation cannot be performed in the present state"},
    ErrorText{abi::kErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    ErrorText{abi::kErrorNotReady, "cudaErrorNotReady", "device not ready"},
    ErrorText{abi::kErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
              "peer access is already enabled"},
    ErrorText{abi::kErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};
constexpr ErrorText kUnknown = {abi::kErrorUnknown, "cudaErrorUnknown", "unknown error"};

const ErrorText& text_of(int error) {
  for (const ErrorText& text : kTexts) {
    if (text.error == error) {
      return text;
    }
  }
  return kUnknown;
}

thread_local abi::Error last_error = abi::kSuccess;

}  // namespace

abi::Error fail(abi::Error error) {
  last_error = error;
  return error;
}

FAKECUDA_API abi::Error cudaGetLastError() {
  return std::exchange(last_error, abi::kSuccess);
}

FAKECUDA_API abi::Error cudaPeekAtLastError() {
  return last_error;
}

FAKECUDA_API const char* cudaGetErrorName(int error) {
  return text_of(error).name;
}

FAKECUDA_API const char* cudaGetErrorString(int error) {
  return text_of(error).text;
}

}  // namespace highwater::fakecuda
