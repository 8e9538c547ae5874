#include "traces/scalable_program.hpp"

namespace highwater {

std::string_view to_string(FormulaBasis basis) {
  switch (basis) {
    case FormulaBasis::confirmed:
      return "confirmed";
    case FormulaBasis::determined:
      return "determined";
    case FormulaBasis::estimated:
      break;
  }
  return "estimated";
}

}  // namespace highwater
