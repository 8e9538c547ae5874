#include "tools/reports/validation/error_columns.hpp"

#include <boost/json.hpp>

namespace highwater {

boost::json::object error_json(const ErrorSummary& errors) {
  static const Columns<ErrorSummary> kColumns =
      error_columns<ErrorSummary>({}, [](const ErrorSummary& all) { return all; });
  return row_json(kColumns, errors);
}

}  // namespace highwater
