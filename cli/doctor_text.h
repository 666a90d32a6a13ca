/* SPDX-License-Identifier: MIT */
/* The text of `cairn doctor`. */
#ifndef CAIRN_CLI_DOCTOR_TEXT_H
#define CAIRN_CLI_DOCTOR_TEXT_H

#include <cairn/doctor.h>

#include "base/buffer.h"

struct cli_doctor_form {
    int pid;        /* that was asked for; 0: none */
    unsigned width; /* columns that reasons are wrapped to */
    bool colour;
};

/* What comes from a process comes out harmless for a terminal. */
void cli_doctor_add_text(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                         const struct cli_doctor_form *form);

/* One JSON object: docs/formats/doctor-json.md. */
void cli_doctor_add_json(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                         const struct cli_doctor_form *form);

#endif /* CAIRN_CLI_DOCTOR_TEXT_H */
