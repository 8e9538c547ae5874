# Writes OUTPUT, a C++ source that holds the bytes of the file INPUT under the name NAME.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
string(MAKE_C_IDENTIFIER ${NAME} symbol)
file(WRITE ${OUTPUT} "// ${NAME}, written by the build.
#include <string_view>

namespace highwater {
namespace {

constexpr unsigned char kBytes[] = {
${bytes}0};

}  // namespace

extern const std::string_view resource_${symbol};
const std::string_view resource_${symbol}(reinterpret_cast<const char*>(kBytes), sizeof(kBytes) - 1);

}  // namespace highwater
")
