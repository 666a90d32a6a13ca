/* SPDX-License-Identifier: MIT */
#include "picture/palette.h"

/* Hues in degrees, the rest in percent. `low` and `high` may be equal: one hue for the kind. */
struct tone {
    const char *name;
    double hue_low, hue_high;
    double saturation, lightness;           /* on a light page */
    double dark_saturation, dark_lightness; /* on a dark one */
};

static const struct tone tones[CAIRN_PALETTE_KINDS] = {
    [CAIRN_PALETTE_NATIVE] = {"native", 14, 40, 82, 71, 46, 34},
    [CAIRN_PALETTE_INLINED] = {"inlined", 43, 54, 80, 76, 40, 30},
    [CAIRN_PALETTE_KERNEL] = {"kernel", 202, 222, 62, 76, 38, 38},
    [CAIRN_PALETTE_LUA] = {"Lua", 258, 284, 58, 81, 27, 42},
    [CAIRN_PALETTE_OWN] = {"interpreter", 236, 250, 26, 80, 16, 36},
    [CAIRN_PALETTE_JIT] = {"JIT", 142, 166, 42, 70, 34, 32},
    [CAIRN_PALETTE_GUESSED] = {"guessed", 330, 346, 56, 82, 32, 40},
    [CAIRN_PALETTE_UNNAMED] = {"unnamed", 40, 40, 8, 80, 4, 34},
    [CAIRN_PALETTE_ROOT] = {"all", 40, 40, 12, 88, 5, 26},
};

const char *cairn_palette_kind_name(enum cairn_palette_kind kind)
{
    return tones[kind].name;
}

/* FNV-1a: unlike the seeded hash of base/table.h, it is the same in every process. */
uint8_t cairn_palette_shade(const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    return (uint8_t)((hash ^ hash >> 15) % CAIRN_PALETTE_SHADES);
}

/* One channel of HSL to RGB (CSS Color 4, 7): `n` is 0 for red, 8 for green, 4 for blue. */
static uint32_t channel(double hue, double saturation, double lightness, double n)
{
    double k = n + hue / 30;
    while (k >= 12)
        k -= 12;
    double slope = k - 3 < 9 - k ? k - 3 : 9 - k;
    slope = slope > 1 ? 1 : slope < -1 ? -1 : slope;
    double reach = saturation * (lightness < 0.5 ? lightness : 1 - lightness);
    return (uint32_t)((lightness - reach * slope) * 255 + 0.5);
}

uint32_t cairn_palette_rgb(enum cairn_palette_kind kind, uint8_t shade, bool dark)
{
    const struct tone *t = &tones[kind];
    double step = (double)shade / (CAIRN_PALETTE_SHADES - 1);
    double hue = t->hue_low + (t->hue_high - t->hue_low) * step;
    /* Neighbouring hues differ in lightness too: 5 is coprime to the number of shades. */
    double lift = (double)(shade * 5 % CAIRN_PALETTE_SHADES) / (CAIRN_PALETTE_SHADES - 1) - 0.5;
    double saturation = (dark ? t->dark_saturation : t->saturation) / 100;
    double lightness = ((dark ? t->dark_lightness : t->lightness) + lift * 5) / 100;
    return channel(hue, saturation, lightness, 0) << 16 |
           channel(hue, saturation, lightness, 8) << 8 | channel(hue, saturation, lightness, 4);
}
