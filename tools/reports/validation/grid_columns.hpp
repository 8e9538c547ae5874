// The columns of a grid's tables, which its JSON shares.
#pragma once

#include <vector>

#include "tools/studies/validation/grid_run.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/table.hpp"

namespace highwater {

/// How far a form is from the simulated peak that it claims to give.
const Columns<FormSummary>& form_columns();

/// A value of an axis on which a form is furthest off.
struct BreakRow {
  const FormSummary* form = nullptr;
  const AxisValueError* at = nullptr;
};

const Columns<BreakRow>& break_columns();

std::vector<BreakRow> break_rows(const FormSummary& form);

/// What a form gives for a point.
struct PointRow {
  const GridResult* result = nullptr;
  const GridEstimate* estimate = nullptr;
};

/// All numbers exact.
const Columns<PointRow>& point_columns();

std::vector<PointRow> point_rows(const GridResult& result);

}  // namespace highwater
