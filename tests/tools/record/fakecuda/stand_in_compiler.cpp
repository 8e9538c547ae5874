// Stands in for NVIDIA's NVRTC in a test: "compiles" every program to a file with one kernel of 136
// registers a thread and 3072 bytes of shared memory, if source, headers, names and options
// arrived.
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>

namespace {

struct Program {
  std::string source, header, expression;
  bool compiled = false;
};

constexpr std::string_view kKernel = "_Z6kernelILi7EEvv";
constexpr std::uint32_t kRegisters = 136;
constexpr std::size_t kShared = 3072;

/// An ELF file in the making: sections are appended, the table of sections comes last.
class File {
 public:
  File() { add("", SHT_NULL, ""); }

  void add(const std::string& name, std::uint32_t type, const std::string& content,
           std::size_t size = 0) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<std::uint32_t>(names_.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + content_.size();
    section.sh_size = type == SHT_NOBITS ? size : content.size();
    names_ += name + '\0';
    content_ += content;
    table_.append(reinterpret_cast<const char*>(&section), sizeof section);
    ++count_;
  }

  std::string finish() {
    add(".shstrtab", SHT_STRTAB, names_ + ".shstrtab" + '\0');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header + content_.size();
    header.e_shnum = count_;
    header.e_shstrndx = static_cast<std::uint16_t>(count_ - 1);
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + content_ + table_;
  }

 private:
  std::string names_, content_, table_;
  std::uint16_t count_ = 0;
};

std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

std::string made_file() {
  constexpr std::uint32_t kSymbol = 1;
  constexpr std::uint32_t kOtherEntry = 0x00081104;  // a frame's size, which comes first
  constexpr std::uint32_t kRegisterEntry = 0x00082f04;
  Elf64_Sym symbols[2] = {};
  symbols[kSymbol].st_name = 1;
  symbols[kSymbol].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  File file;
  file.add(".strtab", SHT_STRTAB, '\0' + std::string(kKernel) + '\0');
  file.add(".symtab", SHT_SYMTAB,
           std::string(reinterpret_cast<const char*>(symbols), sizeof symbols));
  file.add(".nv.info", SHT_LOPROC,
           words({kOtherEntry, kSymbol, 0, kRegisterEntry, kSymbol + 1, 16, kRegisterEntry, kSymbol,
                  kRegisters}));
  file.add(".nv.shared." + std::string(kKernel), SHT_NOBITS, "", kShared);
  return file.finish();
}

const std::string& file() {
  static const std::string made = made_file();
  return made;
}

}  // namespace

extern "C" {

int nvrtcCreateProgram(Program** program, const char* source, const char*, int headers,
                       const char* const* texts, const char* const* names) {
  *program = new Program{source, headers == 1 ? std::string(names[0]) + texts[0] : "", "", false};
  return 0;
}

int nvrtcAddNameExpression(Program* program, const char* expression) {
  program->expression = expression;
  return 0;
}

int nvrtcCompileProgram(Program* program, int options, const char* const* option) {
  program->compiled = program->source == "source" && program->header == "name.htext" &&
                      program->expression == "kernel<7>" && options == 1 &&
                      std::strcmp(option[0], "--gpu-architecture=sm_90") == 0;
  return program->compiled ? 0 : 6;
}

int nvrtcGetLoweredName(Program* program, const char* expression, const char** name) {
  *name = kKernel.data();
  return program->compiled && program->expression == expression ? 0 : 10;
}

int nvrtcGetCUBINSize(Program*, std::size_t* size) {
  *size = file().size();
  return 0;
}

int nvrtcGetCUBIN(Program*, char* code) {
  file().copy(code, file().size());
  return 0;
}

int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
}
