// The lexical part of a settings string, shared by the grammars: tokens, and tokens as numbers.
//
// Numbers are read by the C++ library's own functions, as PyTorch reads them: leading white space,
// a sign and trailing garbage are accepted, a number out of range is an error. Those functions
// depend on the C locale, which Highwater never changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::detail {

enum class DroppedSpace {
  blanks,  ///< 2.6: only ' '
  all,     ///< later: everything that isspace() accepts
};

/// `conf` cut at , : [ and ], each of which is a token of its own; white space is dropped anywhere.
std::vector<std::string> tokens_of(std::string_view conf, DroppedSpace dropped);

/// std::stoi and the like. @throws SettingsError "stoi: ..." that names `option` and `token`.
int to_int(const std::string& token, std::string_view option);
std::uint64_t to_unsigned_long(const std::string& token, std::string_view option);
std::uint64_t to_unsigned_long_long(const std::string& token, std::string_view option);
double to_double(const std::string& token, std::string_view option);

/// `mebibytes` in bytes, limited to the whole mebibytes that fit 64 bits.
std::uint64_t mebibytes_to_bytes(std::uint64_t mebibytes);

/// Accepts "native" only: the driver's own allocator is not modelled. `difference` is what the
/// release adds to its message about another backend. @throws SettingsError
void check_backend(std::string_view backend, std::string_view difference);

}  // namespace highwater::detail
