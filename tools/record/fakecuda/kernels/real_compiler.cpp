#include "tools/record/fakecuda/kernels/real_compiler.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <map>
#include <mutex>

#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

using RealProgram = void*;  // nvrtcProgram

/// The functions of NVRTC that are called, as nvrtc.h declares them; 0 is success.
struct Compiler {
  int (*create)(RealProgram*, const char*, const char*, int, const char* const*,
                const char* const*);
  int (*add_expression)(RealProgram, const char*);
  int (*compile)(RealProgram, int, const char* const*);
  int (*lowered_name)(RealProgram, const char*, const char**);
  int (*size)(RealProgram, std::size_t*);
  int (*code)(RealProgram, char*);
  int (*destroy)(RealProgram*);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The fake library of the same name is loaded, and its names are global: the real one must find its
// own. A sanitizer's runtime ends a program that asks for that, and its tests have a compiler that
// calls none of its own names.
#ifdef HIGHWATER_SANITIZED
constexpr int kOwnNamesFirst = RTLD_LOCAL;
#else
constexpr int kOwnNamesFirst = RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::optional<Compiler> load(const std::string& path) {
  void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | kOwnNamesFirst);
  Compiler compiler{};
  if (library == nullptr || !find(library, "nvrtcCreateProgram", compiler.create) ||
      !find(library, "nvrtcAddNameExpression", compiler.add_expression) ||
      !find(library, "nvrtcCompileProgram", compiler.compile) ||
      !find(library, "nvrtcGetLoweredName", compiler.lowered_name) ||
      !find(library, "nvrtcGetCUBINSize", compiler.size) ||
      !find(library, "nvrtcGetCUBIN", compiler.code) ||
      !find(library, "nvrtcDestroyProgram", compiler.destroy)) {
    return std::nullopt;
  }
  return compiler;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  std::ranges::transform(texts, std::back_inserter(result), &std::string::c_str);
  return result;
}

/// One program in the real library.
class Compilation {
 public:
  Compilation(const Compiler& compiler, const RuntimeProgram& source) : compiler_(compiler) {
    std::vector<const char*> names, texts;
    for (const auto& [name, text] : source.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    done_ = compiler.create(&program_, source.source.c_str(), source.file.c_str(),
                            static_cast<int>(names.size()), texts.data(), names.data()) == 0;
    for (const std::string& expression : source.expressions) {
      done_ = done_ && compiler.add_expression(program_, expression.c_str()) == 0;
    }
    const std::vector<const char*> options = pointers(source.options);
    done_ =
        done_ && compiler.compile(program_, static_cast<int>(options.size()), options.data()) == 0;
  }

  ~Compilation() {
    if (program_ != nullptr) {
      compiler_.destroy(&program_);
    }
  }

  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  /// Empty for options that ask for PTX, which the driver would compile.
  [[nodiscard]] std::string cubin() const {
    std::size_t size = 0;
    if (!done_ || compiler_.size(program_, &size) != 0) {
      return "";
    }
    std::string code(size, '\0');
    return compiler_.code(program_, code.data()) == 0 ? code : "";
  }

  [[nodiscard]] std::string lowered(const std::string& kernel) const {
    const char* name = nullptr;
    return done_ && compiler_.lowered_name(program_, kernel.c_str(), &name) == 0 ? name : kernel;
  }

 private:
  const Compiler& compiler_;
  RealProgram program_ = nullptr;
  bool done_ = false;
};

std::optional<KernelResources> compile(const RuntimeProgram& program, const std::string& kernel) {
  static const auto compiler = load(settings().cudnn_compiler);
  if (!compiler) {
    return std::nullopt;
  }
  const Compilation compilation(*compiler, program);
  const bool in_section = settings().gpu.major >= 9;
  const int reserved = device_attribute(Attribute::reserved_shared_memory_per_block, 0);
  return resources_in(compilation.cubin(), compilation.lowered(kernel),
                      in_section ? static_cast<std::size_t>(reserved) : 0);
}

}  // namespace

std::optional<KernelResources> compiled_resources(const RuntimeProgram& program,
                                                  const std::string& kernel) {
  using Key = std::pair<const RuntimeProgram*, std::string>;
  static auto* const known = new std::map<Key, std::optional<KernelResources>>;
  static auto* const mutex = new std::mutex;  // its own: compiling takes long
  const std::lock_guard hold(*mutex);
  const Key key{&program, kernel};
  const auto found = known->find(key);
  return found != known->end() ? found->second
                               : known->emplace(key, compile(program, kernel)).first->second;
}

}  // namespace highwater::fakecuda
