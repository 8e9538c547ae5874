// One function for each kind of edit; apply_edit() chooses among them.
#pragma once

#include "sim/edits/edit.hpp"

namespace highwater {

EditReport apply(const Preallocate& edit, EditedRun& run);
EditReport apply(const EmptyCaches& edit, EditedRun& run);
EditReport apply(const DropRecordStreams& edit, EditedRun& run);
EditReport apply(const FreeEarlier& edit, EditedRun& run);
EditReport apply(const FreeAtLastUse& edit, EditedRun& run);
EditReport apply(const MoveToStream& edit, EditedRun& run);
EditReport apply(const MoveToPool& edit, EditedRun& run);
EditReport apply(const ScaleSizes& edit, EditedRun& run);
EditReport apply(const DropStep& edit, EditedRun& run);
EditReport apply(const RepeatStep& edit, EditedRun& run);
EditReport apply(const ArrangeCaptures& edit, EditedRun& run);
EditReport apply(const ThenRun& edit, EditedRun& run);
EditReport apply(const BesideRun& edit, EditedRun& run);

}  // namespace highwater
