#include "tools/edits/edit_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace highwater {
namespace {

using enum EditValueKind;
using enum EditNeed;

constexpr std::array kPreallocate{EditParameter{"size", size, required},
                                  EditParameter{"stream", number}};
constexpr std::array kEmptyCache{EditParameter{"at", word, optional, "step"},
                                 EditParameter{"every", count},
                                 EditParameter{"of", word, optional, "steps allocations"}};
constexpr std::array kSite{EditParameter{"site", site}};
constexpr std::array kFreeEarlier{EditParameter{"site", site},
                                  EditParameter{"by", count, required}};
constexpr std::array kMove{EditParameter{"site", site}, EditParameter{"stream", number},
                           EditParameter{"pool", pool}};
constexpr std::array kScale{EditParameter{"site", site}, EditParameter{"by", factor, required}};
constexpr std::array kDropStep{EditParameter{"step", number, required}};
constexpr std::array kRepeatStep{EditParameter{"step", number, required},
                                 EditParameter{"times", count}};
constexpr std::array kCaptures{EditParameter{"pools", captures, optional, "kept own one"},
                               EditParameter{"streams", word, optional, "kept own one"},
                               EditParameter{"order", captures, optional, "kept largest smallest"}};
constexpr std::array kThen{EditParameter{"file", file, required},
                           EditParameter{"left", word, optional, "freed kept"}};

constexpr std::array kBeside{EditParameter{"file", file, required},
                             EditParameter{"context", amount},
                             EditParameter{"order", word, optional, "clock start share"}};

constexpr std::array kKinds{
    EditKind{"preallocate", "preallocate:SIZE[,stream=HANDLE]",
             "a block of this size before everything else, given back at once", kPreallocate},
    EditKind{"empty_cache", "empty_cache:step or empty_cache:every=N[,of=steps|allocations]",
             "torch.cuda.empty_cache() at the end of each step, or every N of them", kEmptyCache},
    EditKind{"drop_record_stream", "drop_record_stream[:site=SITE]",
             "the blocks are used on no other stream: their frees complete at once", kSite},
    EditKind{"free_earlier", "free_earlier:site=SITE,by=N",
             "the blocks are freed N requests (allocations and frees) earlier", kFreeEarlier},
    EditKind{"free_at_last_use", "free_at_last_use[:site=SITE]",
             "the blocks are freed after their last record_stream that the trace shows", kSite},
    EditKind{
        "move", "move:site=SITE,stream=HANDLE or move:site=SITE,pool=N|default",
        "the blocks are asked for on another stream, or in a private pool (torch.cuda.MemPool)",
        kMove},
    EditKind{"scale", "scale:site=SITE,by=X",
             "the blocks are X times as large; by=0: they do not exist", kScale},
    EditKind{"drop_step", "drop_step:N", "step N does not happen", kDropStep},
    EditKind{"repeat_step", "repeat_step:N[,times=N]", "step N happens so many times (2) in all",
             kRepeatStep},
    EditKind{"captures",
             "captures:pools=own|one|1+2/3+4[,streams=own|one][,order=largest|smallest|3+1+2]",
             "captures of CUDA graphs share a pool, and a stream, or are made in another order",
             kCaptures},
    EditKind{"then", "then:FILE[,left=freed|kept]",
             "another recorded run follows in the same process", kThen},
    EditKind{"beside", "beside:FILE[,context=SIZE][,order=clock|start|share]",
             "another recorded run shares the device as a separate process", kBeside},
};

}  // namespace

std::span<const EditKind> edit_kinds() {
  return kKinds;
}

const EditKind* find_edit_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &EditKind::name);
  return found == kKinds.end() ? nullptr : &*found;
}

std::vector<std::string> edit_help() {
  std::vector<std::string> lines;
  for (const EditKind& kind : kKinds) {
    lines.push_back(fmt::format("{}: {}", kind.form, kind.summary));
  }
  return lines;
}

}  // namespace highwater
