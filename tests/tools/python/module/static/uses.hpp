#pragma once

int uses(const char* text);
