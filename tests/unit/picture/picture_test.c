/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <cairn/picture.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "unit/picture/stacks.h"

static int append(void *ctx, const void *bytes, size_t size)
{
    cairn_buffer_add(ctx, bytes, size);
    return 0;
}

static struct cairn_buffer draw(const struct cairn_profile *p, enum cairn_picture_format format,
                                struct cairn_picture_opts opts)
{
    struct cairn_buffer text = {0};
    struct cairn_err err;
    opts.size = sizeof opts;
    assert_ok(cairn_picture_write(p, format, &opts, append, &text, &err), err);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* A title for every box, and no markup but ours: the names bring none. */
static void names_never_become_markup_in_the_svg(void **state)
{
    (void)state;
    const char *const lines[] = {"</title><script>alert(1)</script>;\"onload=\"alert(2);"
                                 "<img src=x onerror=alert(3)>;]]>;&amp;'a' 10",
                                 NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_buffer svg = draw(
        p, CAIRN_PICTURE_SVG, (struct cairn_picture_opts){.title = "<b>&", .subtitle = "</text>"});
    const char *text = cairn_buffer_text(&svg);
    assert_int_equal(count(text, "<script"), 1);
    assert_int_equal(count(text, "<img"), 0);
    assert_int_equal(count(text, "<b>"), 0);
    assert_int_equal(count(text, "]]>"), 1);
    assert_int_equal(count(text, "\"onload"), 0);
    assert_int_equal(count(text, "<title>"), count(text, "</title>"));
    assert_contains(text,
                    "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; (10 samples, 100.0%)");
    assert_contains(text, "&amp;amp (10 samples");
    cairn_buffer_done(&svg);
    cairn_profile_free(p);
}

static void names_never_stand_in_the_page_as_text(void **state)
{
    (void)state;
    const char *const lines[] = {
        "</script><script>alert(1)</script>;<img src=x onerror=alert(3)> 10", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_buffer plain = draw(p, CAIRN_PICTURE_HTML, (struct cairn_picture_opts){0});
    size_t scripts = count(cairn_buffer_text(&plain), "<script");
    cairn_buffer_done(&plain);
    struct cairn_buffer page = draw(
        p, CAIRN_PICTURE_HTML,
        (struct cairn_picture_opts){.title = "</title><script>alert(4)</script>",
                                    .subtitle = "</script><script>alert(5)</script>\xe2\x80\xa8"});
    const char *text = cairn_buffer_text(&page);
    assert_int_equal(count(text, "<script"), scripts);
    assert_int_equal(count(text, "</script"), scripts);
    assert_null(strstr(text, "alert(1)"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "\xe2\x80\xa8"));
    cairn_buffer_done(&page);
    cairn_profile_free(p);
}

static void the_page_loads_nothing(void **state)
{
    (void)state;
    const char *const lines[] = {"main 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_buffer page = draw(p, CAIRN_PICTURE_HTML, (struct cairn_picture_opts){0});
    const char *text = cairn_buffer_text(&page);
    assert_contains(text, "content=\"default-src 'none'; script-src 'sha256-");
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "https://"));
    assert_null(strstr(text, " src="));
    assert_null(strstr(text, "url("));
    cairn_buffer_done(&page);
    cairn_profile_free(p);
}

static void what_is_too_narrow_is_counted_in_the_svg(void **state)
{
    (void)state;
    const char *const lines[] = {"main;big 10000", "main;small1;below 1", "main;small2 2", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_buffer svg =
        draw(p, CAIRN_PICTURE_SVG, (struct cairn_picture_opts){.svg_min_percent = 1});
    assert_contains(cairn_buffer_text(&svg), ">3 of 6 frames, each below 1%, are not drawn<");
    assert_int_equal(count(cairn_buffer_text(&svg), "<g>"), 3);
    cairn_buffer_done(&svg);
    svg = draw(p, CAIRN_PICTURE_SVG, (struct cairn_picture_opts){.svg_min_percent = 0.001});
    assert_null(strstr(cairn_buffer_text(&svg), "are not drawn"));
    assert_int_equal(count(cairn_buffer_text(&svg), "<g>"), 6);
    cairn_buffer_done(&svg);
    cairn_profile_free(p);
}

/* 600 pixels hold about 84 characters of the subtitle, and 49 of the title between the buttons. */
static void a_long_head_stays_inside_the_svg(void **state)
{
    (void)state;
    const char *const lines[] = {"main 10", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    char words[201], title[301];
    memset(title, 't', 300);
    title[300] = 0;
    for (int i = 0; i < 200; i++)
        words[i] = (char)(i % 10 == 9 ? ' ' : 'a' + i / 10);
    words[200] = 0;
    struct cairn_buffer svg =
        draw(p, CAIRN_PICTURE_SVG,
             (struct cairn_picture_opts){.title = title, .subtitle = words, .svg_width = 600});
    const char *text = cairn_buffer_text(&svg);
    assert_int_equal(count(text, "<text class=\"subtitle\""), 3);
    assert_contains(text, "hhhhhhhhh</text>");
    assert_contains(text, "y=\"62\">iiiiiiiii ");
    assert_contains(text, "ttt..</text>");
    assert_null(strstr(text, "tttttttttttttttttttttttttttttttttttttttttttttttttt")); /* 50 */
    cairn_buffer_done(&svg);
    cairn_profile_free(p);
}

static void the_title_is_the_command_that_was_recorded(void **state)
{
    (void)state;
    const char *const lines[] = {"main 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_int_equal(cairn_profile_add_comment(p, "host: here"), CAIRN_OK);
    assert_int_equal(cairn_profile_add_comment(p, "command: ./server --port 80"), CAIRN_OK);
    struct cairn_buffer svg = draw(p, CAIRN_PICTURE_SVG, (struct cairn_picture_opts){0});
    assert_contains(cairn_buffer_text(&svg), ">cairn: ./server --port 80</text>");
    cairn_buffer_done(&svg);
    cairn_profile_free(p);
}

static void a_profile_without_samples_says_so(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    struct cairn_buffer svg = draw(p, CAIRN_PICTURE_SVG, (struct cairn_picture_opts){0});
    assert_contains(cairn_buffer_text(&svg), "no samples");
    cairn_buffer_done(&svg);
    struct cairn_buffer page = draw(p, CAIRN_PICTURE_HTML, (struct cairn_picture_opts){0});
    assert_contains(cairn_buffer_text(&page), "\"nodes\":1,");
    cairn_buffer_done(&page);
    cairn_profile_free(p);
}

static void what_cannot_be_meant_is_refused(void **state)
{
    (void)state;
    const char *const lines[] = {"main 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_buffer text = {0};
    struct cairn_err err;
    struct cairn_picture_opts opts = {.size = sizeof opts, .value_type = 1};
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_SVG, &opts, append, &text, &err), CAIRN_E_ARG,
                 err, "value type 1, the profile has 1");
    opts = (struct cairn_picture_opts){.size = sizeof opts, .svg_width = 5};
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_SVG, &opts, append, &text, &err), CAIRN_E_ARG,
                 err, "5 pixels wide");
    opts = (struct cairn_picture_opts){.size = sizeof opts, .svg_min_percent = 101};
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_SVG, &opts, append, &text, &err), CAIRN_E_ARG,
                 err, "smallest share 101");
    opts = (struct cairn_picture_opts){.size = sizeof opts, .guest = CAIRN_GUEST_OFF + 1};
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_HTML, &opts, append, &text, &err),
                 CAIRN_E_ARG, err, "no view of guests has the number 4");
    assert_int_equal(text.size, 0);
    cairn_profile_free(p);
}

static int take_some(void *ctx, const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return --*(int *)ctx < 0;
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    const char *const lines[] = {"main 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_err err;
    int pieces = 0;
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_HTML, NULL, take_some, &pieces, &err),
                 CAIRN_E_IO, err, "took no more");
    cairn_profile_free(p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char *const lines[] = {"main;put@k 4", "main;get;hash 2", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    const struct cairn_profile_marker marker = {
        .stack = p->samples[0].stack, .labels = cairn_profile_add_label_set(p, NULL, 0, 0, 1000)};
    assert_int_equal(cairn_profile_add_marker(p, &marker), 0);
    for (int format = CAIRN_PICTURE_HTML; format <= CAIRN_PICTURE_SVG; format++) {
        int rc = CAIRN_E_NOMEM;
        long n = 0;
        for (; rc == CAIRN_E_NOMEM && n < 1000; n++) {
            struct cairn_err err = {0};
            int pieces = 1000;
            cairn_alloc_fail_after(n);
            rc = cairn_picture_write(p, (enum cairn_picture_format)format, NULL, take_some, &pieces,
                                     &err);
            cairn_alloc_fail_after(-1);
            assert_int_equal(err.code, rc);
        }
        assert_int_equal(rc, CAIRN_OK);
        assert_in_range(n, 10, 999);
    }
    cairn_profile_free(p);
}

static void a_comparison_is_html_alone(void **state)
{
    (void)state;
    const char *const lines[] = {"main 1", NULL};
    struct cairn_profile *p = stacks_profile(lines), *other = stacks_new();
    struct cairn_buffer text = {0};
    struct cairn_err err;
    struct cairn_picture_opts opts = {.size = sizeof opts, .old = p};
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_SVG, &opts, append, &text, &err), CAIRN_E_ARG,
                 err, "as html alone");
    cairn_profile_add_type(other, "wall", "seconds");
    opts.old = other;
    assert_fails(cairn_picture_write(p, CAIRN_PICTURE_HTML, &opts, append, &text, &err),
                 CAIRN_E_ARG, err, "do not go together");
    assert_int_equal(text.size, 0);
    cairn_profile_free(p);
    cairn_profile_free(other);
}

static void without_memory_a_comparison_fails_cleanly(void **state)
{
    (void)state;
    const char *const new_lines[] = {"main@c;get<int>(int)@k 4", "main;put 3", NULL};
    const char *const old_lines[] = {"main@c;gone 2", NULL};
    struct cairn_profile *p = stacks_profile(new_lines), *old = stacks_profile(old_lines);
    struct cairn_err err;
    assert_ok(cairn_profile_label_all(p, "thread", "one", &err), err);
    struct cairn_picture_opts opts = {.size = sizeof opts, .old = old};
    int rc = CAIRN_E_NOMEM;
    for (long countdown = 0; rc != CAIRN_OK; countdown++) {
        struct cairn_buffer text = {0};
        cairn_alloc_fail_after(countdown);
        rc = cairn_picture_write(p, CAIRN_PICTURE_HTML, &opts, append, &text, &err);
        cairn_alloc_fail_after(-1);
        assert_true(rc == CAIRN_OK || rc == CAIRN_E_NOMEM);
        rc = text.failed ? CAIRN_E_NOMEM : rc;
        cairn_buffer_done(&text);
    }
    cairn_profile_free(p);
    cairn_profile_free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_never_become_markup_in_the_svg),
        cmocka_unit_test(names_never_stand_in_the_page_as_text),
        cmocka_unit_test(the_page_loads_nothing),
        cmocka_unit_test(what_is_too_narrow_is_counted_in_the_svg),
        cmocka_unit_test(a_long_head_stays_inside_the_svg),
        cmocka_unit_test(the_title_is_the_command_that_was_recorded),
        cmocka_unit_test(a_profile_without_samples_says_so),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_comparison_is_html_alone),
        cmocka_unit_test(without_memory_a_comparison_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
