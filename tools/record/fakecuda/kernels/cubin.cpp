#include "tools/record/fakecuda/kernels/cubin.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <vector>

namespace highwater::fakecuda {
namespace {

// An entry of .nv.info: how its value is stored, what it says, its size, then its value: here a
// symbol's number and the registers of that kernel. cuobjdump -elf calls them EIFMT_SVAL and
// EIATTR_REGCOUNT.
constexpr std::uint8_t kSizedValue = 4;
constexpr std::uint8_t kRegisterCount = 0x2f;

/// The bytes of an ELF file by section. Whatever would lie outside of the file is empty.
class Sections {
 public:
  explicit Sections(std::string_view file) : file_(file) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    if (header.e_shstrndx < sections_.size()) {
      names_ = bytes(sections_[header.e_shstrndx]);
    }
  }

  [[nodiscard]] const Elf64_Shdr* find(std::string_view name) const {
    const auto found = std::ranges::find_if(sections_, [&](const Elf64_Shdr& section) {
      return text(names_, section.sh_name) == name;
    });
    return found == sections_.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string_view content(std::string_view name) const {
    const Elf64_Shdr* const section = find(name);
    return section == nullptr ? std::string_view() : bytes(*section);
  }

  static std::string_view text(std::string_view names, std::size_t offset) {
    names.remove_prefix(std::min(offset, names.size()));
    return names.substr(0, names.find('\0'));
  }

 private:
  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    T value{};
    if (offset <= file_.size() && sizeof value <= file_.size() - offset) {
      std::memcpy(&value, file_.data() + offset, sizeof value);
    }
    return value;
  }

  [[nodiscard]] std::string_view bytes(const Elf64_Shdr& section) const {
    return section.sh_type != SHT_NOBITS && section.sh_offset <= file_.size() &&
                   section.sh_size <= file_.size() - section.sh_offset
               ? file_.substr(section.sh_offset, section.sh_size)
               : std::string_view();
  }

  std::string_view file_, names_;
  std::vector<Elf64_Shdr> sections_;
};

template <class T>
T read(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

std::optional<std::uint32_t> symbol_number(const Sections& sections, const std::string& kernel) {
  const std::string_view symbols = sections.content(".symtab");
  const std::string_view names = sections.content(".strtab");
  for (std::size_t i = 0; i < symbols.size() / sizeof(Elf64_Sym); ++i) {
    const auto symbol = read<Elf64_Sym>(symbols, i * sizeof(Elf64_Sym));
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
        Sections::text(names, symbol.st_name) == kernel) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> register_count(std::string_view info, std::uint32_t symbol) {
  for (std::size_t place = 0; place + 4 <= info.size();) {
    const bool sized = read<std::uint8_t>(info, place) == kSizedValue;
    if (sized && read<std::uint8_t>(info, place + 1) == kRegisterCount &&
        read<std::uint32_t>(info, place + 4) == symbol) {
      return read<std::uint32_t>(info, place + 8);
    }
    place += sized ? std::size_t{4} + read<std::uint16_t>(info, place + 2) : std::size_t{4};
  }
  return std::nullopt;
}

}  // namespace

std::optional<KernelResources> resources_in(std::string_view cubin, const std::string& kernel,
                                            std::size_t reserved) {
  const Sections sections(cubin);
  const auto symbol = symbol_number(sections, kernel);
  if (!symbol) {
    return std::nullopt;
  }
  const auto registers = register_count(sections.content(".nv.info"), *symbol);
  if (!registers) {
    return std::nullopt;
  }
  const Elf64_Shdr* const shared = sections.find(".nv.shared." + kernel);
  const std::size_t size = shared == nullptr ? 0 : shared->sh_size;
  return KernelResources{static_cast<int>(*registers), size - std::min(size, reserved)};
}

}  // namespace highwater::fakecuda
