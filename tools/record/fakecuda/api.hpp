// Declares the fake libraries' functions: with C linkage and default visibility.
#pragma once

#define FAKECUDA_API extern "C" __attribute__((visibility("default")))
