// How the fake libraries' functions are declared: with C linkage and visible.
#pragma once

#define FAKECUDA_API extern "C" __attribute__((visibility("default")))
