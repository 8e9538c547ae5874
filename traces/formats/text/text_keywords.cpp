#include "traces/formats/text/text_keywords.hpp"

#include <algorithm>
#include <array>

namespace highwater {
namespace {

// The most frequent words come first, since the table is searched from the front.
constexpr std::array<KeywordRow, 23> kKeywords{{
    {"a", Keyword::a, "a ID SIZE STREAM [CATEGORY] [@STACK]"},
    {"f", Keyword::f, "f ID [@STACK]"},
    {"r", Keyword::r, "r ID STREAM [@STACK]"},
    {"e", Keyword::e, "e STREAM [@STACK]"},
    {"E", Keyword::all, "E [@STACK]"},
    {"op", Keyword::op, "op NAME"},
    {"phase", Keyword::phase, "phase NAME"},
    {"step", Keyword::step, "step N"},
    {"c", Keyword::c, "c [@STACK]"},
    {"p", Keyword::p, "p [@STACK]"},
    {"pool_begin", Keyword::pool_begin,
     "pool_begin POOL [no_split] [use_on_oom] [capture] [@STACK]"},
    {"pool_end", Keyword::pool_end, "pool_end POOL [@STACK]"},
    {"pool_retire", Keyword::pool_retire, "pool_retire POOL [@STACK]"},
    {"pool_release", Keyword::pool_release, "pool_release POOL [now] [@STACK]"},
    {"setconf", Keyword::setconf, "setconf STRING"},
    {"limit", Keyword::limit, "limit BYTES|none [@STACK]"},
    {"frame", Keyword::frame, "frame K LINE FILE<TAB>FUNCTION"},
    {"stack", Keyword::stack, "stack K FRAME..."},
    {"conf", Keyword::conf, "conf STRING"},
    {"device", Keyword::device, "device BYTES"},
    {"fraction", Keyword::fraction, "fraction X"},
    {"addr", Keyword::addr, "addr reuse"},
    {"torch", Keyword::torch, "torch RELEASE"},
}};

}  // namespace

const KeywordRow* find_keyword(std::string_view word) {
  const auto* const found = std::ranges::find(kKeywords, word, &KeywordRow::word);
  return found == kKeywords.end() ? nullptr : found;
}

}  // namespace highwater
