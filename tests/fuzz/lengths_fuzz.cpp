// What --lengths names is a file of lengths or a distribution, or is refused: a file with the line.
//
// The first byte chooses which of the two the rest is.
#include <boost/program_options/variables_map.hpp>

#include "tests/fuzz/fuzz_input.hpp"
#include "tools/options/chance_options.hpp"
#include "traces/error.hpp"

namespace {

using namespace highwater;

const Command& command_of_lengths() {
  static const Command kCommand{"chance", "", "", "", nullptr};
  return kCommand;
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryBackedFile file;
  if (size == 0) {
    return 0;
  }
  const std::string text(fuzz::text_of(data, size).substr(1));
  const std::string lengths = (data[0] & 1) != 0 ? file.holding(text) : text;
  OptionParser parser(command_of_lengths());
  add_chance_options(parser);
  try {
    read_chance_question(parser.parse({"--lengths=" + lengths}));
  } catch (const InputError&) {
  } catch (const UsageErrors&) {
  } catch (const UsageError&) {
  }
  return 0;
}
