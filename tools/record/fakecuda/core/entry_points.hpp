// The driver's functions by name, for look-ups at run time.
#pragma once

namespace highwater::fakecuda {

/// The function that `name` means to a program built for `cuda_version` (12080): its newest variant
/// (cuMemGetAddressRange is cuMemGetAddressRange_v2). nullptr for a name that the driver lacks.
void* find_entry_point(const char* name, int cuda_version);

}  // namespace highwater::fakecuda
