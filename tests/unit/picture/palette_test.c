/* SPDX-License-Identifier: MIT */
#include "picture/palette.h"

#include "support/test.h"

/* WCAG 2.1, relative luminance, with a polynomial (error below 0.003) for the power of 2.4. */
static double luminance(uint32_t rgb)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;
    for (int i = 0; i < 3; i++, rgb >>= 8) {
        double c = (rgb & 255) / 255.0;
        sum += weights[i] * c * (0.012523 + c * (0.682171 + c * 0.305306));
    }
    return sum;
}

static double contrast(uint32_t a, uint32_t b)
{
    double x = luminance(a), y = luminance(b);
    return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

static void text_can_be_read_on_every_colour(void **state)
{
    (void)state;
    for (int kind = 0; kind < CAIRN_PALETTE_KINDS; kind++)
        for (uint8_t shade = 0; shade < CAIRN_PALETTE_SHADES; shade++) {
            double light =
                contrast(0x23211d, cairn_palette_rgb((enum cairn_palette_kind)kind, shade, false));
            double dark =
                contrast(0xf1eee8, cairn_palette_rgb((enum cairn_palette_kind)kind, shade, true));
            if (light < 4.5 || dark < 4.5)
                fail_msg("%s, shade %u: contrast %.2f on light, %.2f on dark, at least 4.5 wanted",
                         cairn_palette_kind_name((enum cairn_palette_kind)kind), shade, light,
                         dark);
        }
}

static void the_primary_colours_come_out_right(void **state)
{
    (void)state;
    /* Grey has three equal channels, nearly: its saturation is low. */
    uint32_t grey = cairn_palette_rgb(CAIRN_PALETTE_UNNAMED, 0, false);
    assert_in_range((grey >> 16) - (grey & 255), 0, 16);
    uint32_t kernel = cairn_palette_rgb(CAIRN_PALETTE_KERNEL, 0, false);
    assert_true((kernel & 255) > (kernel >> 16));
    uint32_t native = cairn_palette_rgb(CAIRN_PALETTE_NATIVE, 0, false);
    assert_true((native & 255) < (native >> 16));
}

static void a_name_has_one_shade_for_ever(void **state)
{
    (void)state;
    assert_int_equal(cairn_palette_shade("main"), cairn_palette_shade("main"));
    assert_int_equal(cairn_palette_shade(""), (2166136261u ^ 2166136261u >> 15) % 12);
    unsigned seen = 0;
    for (char name[] = "a"; name[0] <= 'z'; name[0]++)
        seen |= 1u << cairn_palette_shade(name);
    assert_true(__builtin_popcount(seen) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_can_be_read_on_every_colour),
        cmocka_unit_test(the_primary_colours_come_out_right),
        cmocka_unit_test(a_name_has_one_shade_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
