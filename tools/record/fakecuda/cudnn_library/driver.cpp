// libcuda.so.1 of the program that holds the real cuDNN: a driver without a device, which takes
// every module. cuInit fails, so the CUDA runtime inside libcudnn stays unused (over a driver whose
// cuInit succeeds it asks cuGetExportTable for undocumented tables and crashes), while engines that
// are compiled at run time, as those of attention, find somebody who loads their kernel.
#include <dlfcn.h>

#include "tools/record/fakecuda/api.hpp"

namespace {

constexpr int kSuccess = 0, kNotFound = 500;  // CUresult
constexpr int kDriverVersion = 13020;         // not older than any runtime that asks

char object[256];  // the target of all handles, which nobody looks into

int put_object(void** handle) {
  *handle = object;
  return kSuccess;
}

}  // namespace

FAKECUDA_API int cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return kSuccess;
}

FAKECUDA_API int cuGetErrorString(int, const char** text) {
  *text = "no device";
  return kSuccess;
}

FAKECUDA_API int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_NO_DEVICE";
  return kSuccess;
}

FAKECUDA_API int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}

FAKECUDA_API int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long,
                                     int* status) {
  *function = dlsym(RTLD_DEFAULT, name);
  const int result = *function == nullptr ? kNotFound : kSuccess;
  if (status != nullptr) {
    *status = result == kSuccess ? 0 : 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  }
  return result;
}

FAKECUDA_API int cuGetProcAddress(const char* name, void** function, int version,
                                  unsigned long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

FAKECUDA_API int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return kSuccess;
}

FAKECUDA_API int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*,
                                   void*, unsigned) {
  return put_object(library);
}

FAKECUDA_API int cuLibraryGetKernel(void** kernel, void*, const char*) {
  return put_object(kernel);
}

FAKECUDA_API int cuKernelGetFunction(void** function, void*) {
  return put_object(function);
}

FAKECUDA_API int cuLibraryUnload(void*) {
  return kSuccess;
}

FAKECUDA_API int cuModuleLoadData(void** module, const void*) {
  return put_object(module);
}

FAKECUDA_API int cuModuleLoadDataEx(void** module, const void*, unsigned, void*, void**) {
  return put_object(module);
}

FAKECUDA_API int cuModuleGetFunction(void** function, void*, const char*) {
  return put_object(function);
}

FAKECUDA_API int cuModuleUnload(void*) {
  return kSuccess;
}

FAKECUDA_API int cuFuncSetAttribute(void*, int, int) {
  return kSuccess;
}

FAKECUDA_API int cuKernelSetAttribute(int, int, void*, int) {
  return kSuccess;
}
