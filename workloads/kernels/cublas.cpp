#include "workloads/kernels/cublas.hpp"

#include <charconv>
#include <system_error>

namespace highwater {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr int kPerCallRelease = 2015;  ///< as version_number: no workspace is kept from here on

/// "2.6" or "2.6.0+cu124" as major * 1000 + minor.
int version_number(std::string_view torch) {
  int major = 0;
  int minor = 0;
  const char* const end = torch.data() + torch.size();
  const auto [dot, error] = std::from_chars(torch.data(), end, major);
  if (error == std::errc{} && dot != end) {
    std::from_chars(dot + 1, end, minor);
  }
  return major * 1000 + minor;
}

}  // namespace

CublasWorkspace cublas_workspace(const Gpu& gpu, std::string_view torch) {
  const int version = version_number(torch);
  if (version < 2000) {
    return {WorkspaceLife::persistent, 4096 * kKib};
  }
  return {version >= kPerCallRelease ? WorkspaceLife::per_call : WorkspaceLife::persistent,
          (gpu.major == 9 ? 32768 : 8320) * kKib};  // :4096:8, or :4096:2:16:8
}

CublasWorkspace cublaslt_workspace(std::string_view torch) {
  constexpr std::int64_t kBytes = 1024 * kKib;
  const int version = version_number(torch);
  if (version < 2009 || version >= kPerCallRelease) {
    return {WorkspaceLife::per_call, kBytes};
  }
  return version >= 2011 ? CublasWorkspace{WorkspaceLife::shared, 0}
                         : CublasWorkspace{WorkspaceLife::persistent, kBytes};
}

bool addmm_uses_cublaslt(const AddmmCall& call) {
  return call.beta_is_one && call.bias_dims == 1 && call.bias_contiguous &&
         call.bias_size == call.n && is_floating_point(call.dtype) && call.k > 1 && call.n > 1;
}

}  // namespace highwater
